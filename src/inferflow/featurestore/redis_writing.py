"""How records are written together: in a transaction on one server, slot by slot on a cluster.

Both read first and write only if nothing has changed since, for as long as others keep being
quicker. On a cluster a script does that within a slot, since a transaction cannot leave its node;
scripts for many slots are sent at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from inferflow.errors import StoreUnreachable
from inferflow.featurestore.redis_names import by_slot

Kept = tuple[str | int, bytes]
"""How long Redis keeps a record (`gone`, `ever`, or so many ms), and its row."""
Remake = Callable[[list[bytes | None]], list[Kept]]
"""Records from the rows there are. May be called more than once."""

_MOST_TRIES = 100
_AT_ONCE = 1000
"""Scripts sent before their answers are read."""

_SWAP = """
local function is_as_read(i)
  local wanted = ARGV[4 * i - 3]
  if wanted == 'any' then return true end
  local found = redis.call('GET', KEYS[i])
  if wanted == 'none' then return not found end
  return found == ARGV[4 * i - 2]
end
for i = 1, #KEYS do
  if not is_as_read(i) then return 0 end
end
for i, name in ipairs(KEYS) do
  local keep, row = ARGV[4 * i - 1], ARGV[4 * i]
  if keep == 'gone' then redis.call('UNLINK', name)
  elseif keep == 'ever' then redis.call('SET', name, row)
  else redis.call('SET', name, row, 'PX', keep) end
end
return 1
"""


class Writing(Protocol):
    def replace(self, names: Sequence[bytes], records: Sequence[Kept]) -> None: ...

    def update(self, names: Sequence[bytes], remake: Remake) -> None: ...


class Transactions:
    """For one server: a batch is all or nothing. `overtaken` is what the library raises when
    somebody else wrote first."""

    def __init__(self, client: Any, overtaken: type[Exception]) -> None:
        self._client = client
        self._overtaken = overtaken

    def replace(self, names: Sequence[bytes], records: Sequence[Kept]) -> None:
        with self._client.pipeline(transaction=True) as pipe:
            _queue(pipe, names, records)
            pipe.execute()

    def update(self, names: Sequence[bytes], remake: Remake) -> None:
        for _ in range(_MOST_TRIES):
            with self._client.pipeline(transaction=True) as pipe:
                pipe.watch(*names)
                records = remake(pipe.mget(names))
                pipe.multi()
                _queue(pipe, names, records)
                try:
                    pipe.execute()
                except self._overtaken:
                    continue
                return
        raise _overtaken()


class Swaps:
    """For a cluster: what lies in one slot is all or nothing."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def replace(self, names: Sequence[bytes], records: Sequence[Kept]) -> None:
        self._swap(names, None, records, by_slot(names))

    def update(self, names: Sequence[bytes], remake: Remake) -> None:
        old: list[bytes | None] = self._client.mget_nonatomic(names)
        slots = by_slot(names)
        for _ in range(_MOST_TRIES):
            slots = self._swap(names, old, remake(list(old)), slots)
            if not slots:
                return
            # What is written already stays as it was read, so that nothing is changed twice.
            for slot in slots:
                rows = self._client.mget([names[at] for at in slot])
                for at, row in zip(slot, rows, strict=True):
                    old[at] = row
        raise _overtaken()

    def _swap(
        self,
        names: Sequence[bytes],
        old: Sequence[bytes | None] | None,
        records: Sequence[Kept],
        slots: Sequence[list[int]],
    ) -> list[list[int]]:
        """Write the records of these slots. Those that were not as read are what comes back."""
        overtaken: list[list[int]] = []
        for start in range(0, len(slots), _AT_ONCE):
            some = slots[start : start + _AT_ONCE]
            with self._client.pipeline() as pipe:
                for slot in some:
                    arguments = [each for at in slot for each in _arguments(at, old, records)]
                    pipe.execute_command(
                        "EVAL", _SWAP, len(slot), *(names[at] for at in slot), *arguments
                    )
                answers = pipe.execute()
            overtaken += [slot for slot, done in zip(some, answers, strict=True) if not done]
        return overtaken


def _arguments(
    at: int, old: Sequence[bytes | None] | None, records: Sequence[Kept]
) -> Iterator[str | int | bytes]:
    if old is None:
        yield from ("any", b"")
    else:
        row = old[at]
        yield from ("none", b"") if row is None else ("row", row)
    yield from records[at]


def _queue(pipe: Any, names: Sequence[bytes], records: Sequence[Kept]) -> None:
    for name, (keep, row) in zip(names, records, strict=True):
        if keep == "gone":
            pipe.unlink(name)
        else:
            pipe.set(name, row, px=None if keep == "ever" else keep)


def _overtaken() -> StoreUnreachable:
    return StoreUnreachable(
        f"features could not be written: others wrote the same keys first, {_MOST_TRIES} times"
    )
