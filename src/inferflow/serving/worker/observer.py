"""What a worker tells about itself, as plain facts. Whoever counts them subscribes."""

from __future__ import annotations

from typing import Protocol


class WorkerObserver(Protocol):
    """Called on the event loop: must be quick and must not raise."""

    def request_ended(
        self, model: str, version: str, outcome: str, rows: int, duration_s: float, key: str
    ) -> None:
        """`outcome` is `ok`, or who has to act (a Fault's value), or `cancelled`; `key` is the id
        of the key that asked, empty where nobody has to show one."""
        ...

    def batch_ran(
        self, model: str, version: str, requests: int, rows: int, reason: str, run_s: float
    ) -> None: ...

    def queue_left(self, model: str, version: str, waited_s: float) -> None:
        """A request stopped waiting, to run or to be refused."""
        ...

    def loaded(self, model: str, version: str, seconds: float) -> None: ...

    def load_failed(self, model: str, version: str) -> None: ...

    def unloaded(self, model: str, version: str, why: str) -> None:
        """`why` is `idle`, `evicted`, `asked`, `replaced` or `closing`."""
        ...


class SilentObserver:
    """Listens to nothing."""

    def request_ended(
        self, model: str, version: str, outcome: str, rows: int, duration_s: float, key: str
    ) -> None:
        pass

    def batch_ran(
        self, model: str, version: str, requests: int, rows: int, reason: str, run_s: float
    ) -> None:
        pass

    def queue_left(self, model: str, version: str, waited_s: float) -> None:
        pass

    def loaded(self, model: str, version: str, seconds: float) -> None:
        pass

    def load_failed(self, model: str, version: str) -> None:
        pass

    def unloaded(self, model: str, version: str, why: str) -> None:
        pass
