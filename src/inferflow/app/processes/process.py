"""The parent's end of one child: starts it, hears its reports, tells it what to do."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress

from inferflow.app.processes.messages import (
    CouldNotLook,
    LastPage,
    Leaving,
    Orders,
    Report,
    Started,
    Took,
    Word,
    read,
)
from inferflow.errors import EngineFault

log = logging.getLogger("inferflow.processes")

_LONGEST_REPORT = 1024 * 1024 * 1024
_CHILD = "inferflow.app.processes.child"
_SILENT_AFTER = 3
"""Once may be a busy moment."""


class ChildProcess:
    """One child, from its start to its end. Made by `start_child`."""

    def __init__(self, number: int, popen: asyncio.subprocess.Process) -> None:
        self.number = number
        self.pid = popen.pid
        self.http_port = 0
        """0 until it listens."""
        self.took: Took | None = None
        """The last snapshot it looked at."""
        self.is_leaving = False
        self.unanswered = 0
        """How often in a row it did not answer."""
        self.page = b""
        """Its metrics, as last seen."""
        self.has_started = asyncio.Event()
        self._is_page_final = False
        self._popen = popen

    @property
    def state(self) -> str:
        if self.is_leaving:
            return "leaving"
        if self.took is None or not self.http_port:
            return "starting"
        if self.unanswered >= _SILENT_AFTER:
            return "silent"
        return "not ready" if self.took.not_ready else "ready"

    def is_behind(self, version: str) -> bool:
        """Whether it does not serve all of the snapshot of this version."""
        return self.took is None or self.took.version != version or bool(self.took.refused)

    def answered(self, page: bytes | None) -> None:
        """Note the page it was asked for, or that none came."""
        self.unanswered = self.unanswered + 1 if page is None else 0
        if page is not None and not self._is_page_final:
            self.page = page

    def say(self, word: Word) -> None:
        stdin = self._popen.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(f"{word}\n".encode())

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._popen.kill()

    async def ended(self) -> int:
        """Hear it out; its exit code, or minus the signal that killed it."""
        stdout = self._popen.stdout
        if stdout is not None:
            async for line in stdout:
                try:
                    self._hear(read(line))
                except EngineFault:
                    log.exception("process_unclear", extra={"process_number": self.number})
        return await self._popen.wait()

    def _hear(self, report: Report) -> None:
        match report:
            case Started():
                self.http_port = report.http_port
                self.has_started.set()
            case Took():
                self._compare(report)
                self.took = report
            case CouldNotLook():
                self._tell("snapshot_unread", reason=report.why)
            case Leaving():
                self.is_leaving = True
            case LastPage():
                self.page, self._is_page_final = report.page.encode(), True

    def _compare(self, now: Took) -> None:
        """Say what it newly refuses: it is asked again and again, and says so each time."""
        before = {} if self.took is None else self.took.refused
        for config_id, reason in now.refused.items():
            if before.get(config_id) != reason:
                self._tell("snapshot_refused", config_id=config_id, reason=reason)

    def _tell(self, event: str, **facts: str) -> None:
        log.error(event, extra={"process_number": self.number, "pid": self.pid, **facts})


async def start_child(orders: Orders) -> ChildProcess:
    """Start a child by exec: a fork would share what must not be shared. Raises OSError."""
    popen = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _CHILD),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_REPORT,
        # A session of its own: Ctrl-C is for the parent, who ends its children in order.
        start_new_session=True,
    )
    if popen.stdin is not None:
        popen.stdin.write(orders.packed())
    return ChildProcess(orders.number, popen)
