"""The metrics of all processes on one page, on which no counter ever falls.

What a page once showed of a process is kept: a process that does not answer is shown as last
seen, and one that has ended goes on counting. A polite one leaves its last page behind; of one
that was killed, what it did since it was last asked is not known.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from inferflow.app.processes.asking import ask
from inferflow.app.processes.process import ChildProcess
from inferflow.telemetry.merging import merge

log = logging.getLogger("inferflow.processes")


class Pages:
    def __init__(self, own: Callable[[], bytes]) -> None:
        self._own = own
        """The parent's own page."""
        self._ended = b""

    def retire(self, page: bytes) -> None:
        """Keep the last page of a process that ended."""
        if not page:
            return
        try:
            self._ended = merge([], [self._ended, page])
        except ValueError:  # its counts are lost, and nothing else may be
            log.exception("page_lost")

    async def refresh(self, children: Sequence[ChildProcess]) -> None:
        """Ask every process that listens for its page."""
        await asyncio.gather(*(self._ask(child) for child in children if child.http_port))

    async def _ask(self, child: ChildProcess) -> None:
        answer = await ask(child.http_port, "/metrics")
        child.answered(None if answer is None else answer.body)

    def together(self, children: Iterable[ChildProcess]) -> bytes:
        """What is known of all of them as one page."""
        pages = [child.page for child in children if child.page]
        return merge([self._own(), *pages], [self._ended])
