"""Work that one manager does for all of them, by a lease in the database.

Whoever holds the lease renews it in time. When it stops, another takes over once the lease has run
out. Nothing depends on there being only one at every moment: each step looks before it acts.
"""

from __future__ import annotations

from collections.abc import Callable

from inferflow.serving.manager.storage import Storage

NAME = "housekeeping"


class Duty:
    def __init__(
        self,
        storage: Storage,
        clock: Callable[[], float],
        holder: str,
        *,
        lease_s: float = 15.0,
        renew_s: float = 5.0,
    ) -> None:
        """`holder` is this manager's name among the others."""
        self._storage = storage
        self._clock = clock
        self._holder = holder
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._asked_s = float("-inf")
        self._until_s = float("-inf")

    @property
    def is_mine(self) -> bool:
        return self._clock() < self._until_s

    async def look(self) -> bool:
        """Take or keep the duty, now and then; whether it is this manager's."""
        now_s = self._clock()
        if not 0 <= now_s - self._asked_s < self._renew_s:
            until_s = now_s + self._lease_s
            async with self._storage.writing(quietly=True) as tx:
                lease = await tx.duties.take(
                    NAME, self._holder, now_ms=int(now_s * 1000), until_ms=int(until_s * 1000)
                )
            self._asked_s = now_s
            self._until_s = until_s if lease.holder == self._holder else float("-inf")
        return self.is_mine

    async def give_up(self) -> None:
        """So that another need not wait until the lease has run out."""
        if self.is_mine:
            async with self._storage.writing(quietly=True) as tx:
                await tx.duties.release(NAME, self._holder)
            self._until_s = float("-inf")
