"""A progress bar that appears only when there is something to wait for, and someone to see it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class LoadingBar:
    """Called with a file's name, and how much of it is done and there is in all: rows, or bytes."""

    def __init__(self, doing: str = "loading", *, in_bytes: bool = False) -> None:
        self._doing = doing
        self._in_bytes = in_bytes
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._is_seen = sys.stderr.isatty()

    def __call__(self, name: str, done: int, total: int) -> None:
        if not self._is_seen:
            return
        if self._bar is None:
            self._bar = _new_bar(in_bytes=self._in_bytes)
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(f"{self._doing} {name}", total=total)
        self._bar.update(self._tasks[name], completed=done, total=total)

    def __enter__(self) -> LoadingBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the terminal to others, for instance to a question."""
        if self._bar is not None:
            self._bar.stop()


def _new_bar(*, in_bytes: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
