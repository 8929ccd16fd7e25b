"""What a serving process holds open: a project that reloads, its metrics, its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferflow.app.loading import Progress
from inferflow.app.reload_status import Reload
from inferflow.app.settings import read_settings
from inferflow.app.watching import Watcher, log_reload, open_reloading
from inferflow.app.wiring import Embedded
from inferflow.engine.observer import Observer
from inferflow.telemetry import Telemetry, open_logs, open_telemetry


@dataclass(slots=True)
class Role:
    embedded: Embedded
    telemetry: Telemetry
    on_reload: list[Callable[[Reload], None]]
    """Told after every look that led to something."""


@contextmanager
def open_role(
    root: Path, overrides: Mapping[str, Any] | None = None, *, progress: Progress | None = None
) -> Iterator[Role]:
    """A project at work, watched for changes, until the block is left."""
    chosen = read_settings(root, overrides).telemetry.chosen()
    logs = open_logs(chosen)
    telemetry = open_telemetry(chosen)
    told: list[Callable[[Reload], None]] = [log_reload]

    def tell(reload: Reload) -> None:
        for listener in told:
            listener(reload)

    try:
        embedded, reloader = open_reloading(
            root, overrides, progress=progress, observer=telemetry.observer, tell=tell
        )
        telemetry.watch_cache(embedded.cache)
        _count(Reload(changed=embedded.book.ids), embedded, telemetry.observer)
        told.append(lambda reload: _count(reload, embedded, telemetry.observer))
        watcher = Watcher(root, reloader.check_now)
        try:
            yield Role(embedded, telemetry, told)
        finally:
            watcher.close()
            embedded.close()
    finally:
        telemetry.close()
        logs.close()


def _count(reload: Reload, embedded: Embedded, observer: Observer) -> None:
    """Reloads and refusals as metrics."""
    for config_id in reload.changed:
        scorer = embedded.book.live.get(config_id)
        if scorer is not None:
            observer.plan_live(config_id, scorer.plan.digest)
    for config_id in reload.refused:
        problems = [f for f in reload.findings if f.config_id == config_id and f.problem.is_error]
        observer.plan_rejected(config_id, len(problems))
    for config_id in reload.removed:
        observer.plan_removed(config_id)
