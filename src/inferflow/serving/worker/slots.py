"""How many runs go on at once, over all models of a worker; models take turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from inferflow.errors import InvalidInput

Turn = Callable[[], None]


class RunSlots:
    """Used from one event loop only."""

    def __init__(self, total: int) -> None:
        if total < 1:
            raise InvalidInput(f"a worker needs at least one thread to run models, not {total}")
        self.total = total
        self._free = total
        self._turns: deque[Turn] = deque()

    def take(self, turn: Turn) -> bool:
        """Take a slot; without one, `turn` is called when the caller's turn has come."""
        if self._free:
            self._free -= 1
            return True
        if turn not in self._turns:
            self._turns.append(turn)
        return False

    def give_back(self) -> None:
        """Hand a slot to whoever has waited longest for one."""
        self._free += 1
        for _ in range(len(self._turns)):
            if not self._free:
                break
            self._turns.popleft()()
