"""A progress bar that appears only when there is something to wait for, and someone to see it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class LoadingBar:
    """Called with a file's name, rows done and rows in all (see `app.loading.Progress`)."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._is_seen = sys.stderr.isatty()

    def __call__(self, name: str, done: int, total: int) -> None:
        if not self._is_seen:
            return
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(f"loading {name}", total=total)
        self._bar.update(self._tasks[name], completed=done, total=total)

    def __enter__(self) -> LoadingBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
