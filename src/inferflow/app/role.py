"""What a serving process holds open: a project that reloads, its metrics, its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from inferflow.app.etcd_reporting import reporting
from inferflow.app.inference_log import (
    OFF,
    follow_service,
    open_inference_log,
    open_schemas,
    schema_keeper,
    sink_kind,
)
from inferflow.app.loading import Progress
from inferflow.app.operating import watch_serving
from inferflow.app.recordings.pages import LocalPages
from inferflow.app.recordings.records import Records, open_keeper
from inferflow.app.reload import Reloader
from inferflow.app.reload_status import Reload
from inferflow.app.settings import Settings, read_settings
from inferflow.app.watching import Watcher, log_reload, open_reloading
from inferflow.app.wiring import Embedded
from inferflow.engine.observer import Observer
from inferflow.inferlog.schemas import SchemaBook
from inferflow.plan.problems import Problem
from inferflow.plan.schema import ServiceDoc
from inferflow.telemetry import Telemetry, open_logs, open_telemetry

News = TypeVar("News")


@dataclass(slots=True)
class Role:
    settings: Settings
    embedded: Embedded
    telemetry: Telemetry
    reloader: Reloader
    on_reload: list[Callable[[Reload], None]]
    """Told after every look that led to something."""
    on_service: list[Callable[[ServiceDoc], None]]
    """Told when log messages are to be written in another way."""
    records: Records
    """Requests worth a second look."""
    schemas: SchemaBook
    """What inference logs are made of."""


_ONLY_CHECKING = {"model_idle_unload": 10_000.0}
"""Who answers no calls has loaded models only to see what they take."""


@contextmanager
def open_role(
    root: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    answers: bool = True,
) -> Iterator[Role]:
    """A project at work, watched for changes, until the block is left. Unless it `answers`,
    calls are for other processes, and it only decides what they serve."""
    settings = read_settings(root, overrides)
    overrides = overrides if answers else {**(overrides or {}), **_ONLY_CHECKING}
    with ExitStack() as opened:  # closes in the opposite order
        logs = open_logs(settings.telemetry.chosen())
        opened.callback(logs.close)
        keeper = open_keeper(settings.serve)
        inference_log = open_inference_log(root, settings) if answers else None
        also = [keeper, *([inference_log] if inference_log else [])]
        telemetry = (
            watch_serving(settings, also)
            if answers
            else open_telemetry(settings.telemetry.chosen(), also)
        )
        opened.callback(telemetry.close)
        if inference_log is not None:
            inference_log.counts.observer = telemetry.observer
            opened.callback(inference_log.close, settings.logs.flush_timeout / 1000)
        on_reload = _Listeners[Reload]([log_reload])
        on_service = _Listeners[ServiceDoc]([follow_service(inference_log)])
        embedded, reloader = open_reloading(
            root,
            overrides,
            progress=progress,
            observer=telemetry.observer,
            tell=on_reload.tell,
            tell_service=on_service.tell,
        )
        opened.callback(embedded.close)
        opened.callback(reloader.close)
        if answers:
            telemetry.watch_cache(embedded.cache)
        count = _Counted(embedded, telemetry.observer)
        count(Reload(changed=embedded.book.ids))
        on_reload.append(count)
        schemas = open_schemas(root, settings)
        is_off = sink_kind(settings) == OFF
        keep_schemas = schema_keeper(schemas, lambda: embedded.book, is_off=is_off)
        keep_schemas(None)
        on_reload.append(keep_schemas)
        opened.callback(Watcher(root, reloader.check_now).close)
        on_reload.append(opened.enter_context(reporting(reloader, settings, telemetry)))
        pages = LocalPages(keeper, reloader.status, lambda: embedded.book)
        records = Records(keeper, pages)
        yield Role(settings, embedded, telemetry, reloader, on_reload, on_service, records, schemas)


class _Listeners(list[Callable[[News], None]]):
    """Whoever wants to hear of something; others may be added while it goes on."""

    def tell(self, news: News) -> None:
        for listener in self:
            listener(news)


class _Counted:
    """Reloads and refusals as metrics."""

    def __init__(self, embedded: Embedded, observer: Observer) -> None:
        self._embedded = embedded
        self._observer = observer
        self._refused: dict[str, tuple[Problem, ...]] = {}

    def __call__(self, reload: Reload) -> None:
        # One that was refused and is as it was before is no change, but it is accepted.
        mended = self._refused.keys() - {*reload.refused, *reload.removed, *reload.changed}
        for config_id in (*reload.changed, *sorted(mended)):
            scorer = self._embedded.book.live.get(config_id)
            if scorer is not None:
                self._observer.plan_live(config_id, scorer.plan.digest)
        refused = {config_id: _errors(reload, config_id) for config_id in reload.refused}
        for config_id, errors in refused.items():
            # While one stays bad, a reload of others is no further refusal of it.
            if errors != self._refused.get(config_id):
                self._observer.plan_rejected(config_id, len(errors))
        for config_id in reload.removed:
            self._observer.plan_removed(config_id)
        self._refused = refused


def _errors(reload: Reload, config_id: str) -> tuple[Problem, ...]:
    return tuple(
        finding.problem
        for finding in reload.findings
        if finding.config_id == config_id and finding.problem.is_error
    )
