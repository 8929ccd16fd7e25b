"""Calls a reloader when a project's files change, on a thread of its own.

Events only say when to look; what changed is found by looking, so that a burst of saves is one
look, and an event that never came costs a second. `inferflow serve` and `open(watch=True)` own
one each.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from inferflow.app.complaints import Complaints
from inferflow.app.config_stores import follow_configs, open_served
from inferflow.app.etcd_service import ServiceWatch
from inferflow.app.inputs import follow_inputs
from inferflow.app.lastgood import LastGood
from inferflow.app.loading import Progress
from inferflow.app.places import config_dir
from inferflow.app.project import read_project
from inferflow.app.reload import Reloader
from inferflow.app.reload_status import Reload
from inferflow.app.settings import read_settings
from inferflow.app.wiring import Embedded, open_embedded
from inferflow.configstore import ConfigStore
from inferflow.engine.observer import Observer
from inferflow.errors import MissingExtra
from inferflow.plan.schema import ServiceDoc

FOLDERS = ("configs", "features", "models")
LOG = logging.getLogger("inferflow.reload")
TICK_MS = 1000
"""Looks this often without an event: for files beside these folders, and folders yet to come."""


def log_reload(reload: Reload) -> None:
    """Says what a look has led to, for those who have no log of their own."""
    if reload.changed or reload.removed:
        LOG.info("taken up: %s; removed: %s", list(reload.changed), list(reload.removed))
    for finding in reload.findings:
        if finding.problem.is_error:
            LOG.warning("refused: %s", finding)


def log_failure(error: Exception) -> None:
    LOG.error("the project could not be looked at: %s", error, exc_info=error)


def open_reloading(
    root: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    observer: Observer | None = None,
    tell: Callable[[Reload], None] = log_reload,
    tell_service: Callable[[ServiceDoc], None] = lambda _: None,
) -> tuple[Embedded, Reloader]:
    """A project that starts with what is good of it now, and with what was good last where that
    is not; and what keeps it up to date. The first look has been taken."""
    settings = read_settings(root, overrides)
    served = open_served(root, settings)
    with ExitStack() as opened:
        configs = opened.enter_context(closing(follow_configs(root, settings)))
        inputs = opened.enter_context(closing(follow_inputs(root, settings, configs, served)))
        project = read_project(root, configs.current(), inputs)
        is_elsewhere = bool(settings.etcd.endpoints)
        LastGood(served.read(), served).mend_schema(project, must_open=is_elsewhere)
        embedded = open_embedded(
            root, overrides, project=project, progress=progress, observer=observer
        )
        opened.pop_all()
    beside = _followed_too(embedded, configs, tell_service) if is_elsewhere else lambda: None
    reloader = Reloader(embedded, configs, served, inputs=inputs, beside=beside, tell=tell)
    try:
        reloader.check_now()
    except BaseException:
        reloader.close()
        embedded.close()
        raise
    return embedded, reloader


def _followed_too(
    embedded: Embedded, configs: ConfigStore, tell: Callable[[ServiceDoc], None]
) -> Callable[[], None]:
    """What is in etcd beside configs, and what etcd has to say when there is none."""
    from inferflow.configstore.etcd import FollowedStore

    assert isinstance(configs, FollowedStore)
    embedded.why_nothing = configs.why_nothing

    def told(service: ServiceDoc) -> None:
        embedded.service = service
        tell(service)

    settings = embedded.settings
    home = config_dir(embedded.project.root, settings)
    return ServiceWatch(configs, settings.service, home, told).look


class Watcher:
    """Runs until closed. An error of a look is told once in a while, and the next event looks
    again."""

    def __init__(
        self,
        root: Path,
        look: Callable[[], object],
        *,
        failed: Callable[[Exception], None] = log_failure,
        tick_ms: int = TICK_MS,
        debounce_ms: int = 100,
    ) -> None:
        try:
            import watchfiles
        except ModuleNotFoundError as missing:
            raise MissingExtra("serve", for_what="watching a project for changes") from missing
        self._watch = watchfiles.watch
        self._has_events = True
        self._root = root
        self._look = look
        self._complaints = Complaints(failed)
        self._tick_ms = tick_ms
        self._debounce_ms = debounce_ms
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inferflow-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """A look under way is finished first."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            folders = self._folders()
            if not folders or not self._has_events:
                self._closing.wait(self._tick_ms / 1000)
                self._look_once()
                continue
            try:
                self._look_at_events(folders)
            except Exception as error:  # too many watches, most likely: ticks have to do
                self._has_events = False
                self._complaints.failed(error)

    def _look_at_events(self, folders: list[Path]) -> None:
        """Until it is time to close, or to watch other folders: one has come or gone."""
        for _ in self._watch(
            *folders,
            stop_event=self._closing,
            debounce=self._debounce_ms,
            step=min(50, self._debounce_ms),
            rust_timeout=self._tick_ms,
            yield_on_timeout=True,
            raise_interrupt=False,
            watch_filter=None,
        ):
            self._look_once()
            if self._folders() != folders:
                return

    def _folders(self) -> list[Path]:
        return [self._root / name for name in FOLDERS if (self._root / name).is_dir()]

    def _look_once(self) -> None:
        try:
            self._look()
        except Exception as error:  # the thread outlives whatever a look meets
            self._complaints.failed(error)
        else:
            self._complaints.succeeded()
