"""The engine's `FeatureReader` for a store that is a service.

Rows of one answer are for the keys of one call; a key that several requests want at the same time
is asked for once. A call that met no server is made again as long as its deadline allows. A
service of ours also tells where values come from; of any other, every value counts as stored.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from inferflow.client.features.answer import AnswerReader
from inferflow.client.features.expected import expected_groups
from inferflow.client.features.flights import Flights, Part
from inferflow.client.features.query import FeatureQuery, key_messages
from inferflow.client.oip.line import Headers, Line, LineOptions, Method
from inferflow.components.feature_rows import joined, only
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRead, FeatureRows, KeyColumns
from inferflow.errors import (
    DeadlinePassed,
    Overloaded,
    StoreFailed,
    StoreUnreachable,
    Unreachable,
)
from inferflow.featurestore.schema import FeatureSchema
from inferflow.rpc.headers import FEATURE_CALLER, FEATURE_TOKEN, PRESENCE


def _failed(entity: str, why: str) -> StoreFailed:
    return StoreFailed(f"features of {entity!r} could not be read: {why}")


RETRIEVE = Method("/retrieve.FeatureService/RetrieveFeatures", "features of", _failed)


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    line: LineOptions = field(default_factory=LineOptions)
    max_calls: int = 128
    """Under way at once, per event loop; further ones wait for their turn."""
    default_deadline_ms: float = 1_000.0
    """For calls that nobody set a limit for: no call waits for ever."""


def caller_headers(caller_id: str, token: str) -> Headers:
    """What calls carry: who asks, and that it wants to know where values come from."""
    shown = ((FEATURE_TOKEN, token),) if token else ()
    return ((FEATURE_CALLER, caller_id), *shown, (PRESENCE, "1"))


class FeatureLine:
    """Calls to one service, shared by everything that reads from it."""

    def __init__(self, address: str, options: FeatureOptions) -> None:
        self.address = address
        self.options = options
        self._line = Line(address, options.line, RETRIEVE)
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    async def ask(self, body: bytes, entity: str, deadline: Deadline) -> bytes:
        """The bytes of the answer. Raises StoreFailed, DeadlinePassed."""
        if deadline.at == inf:
            deadline = deadline.within(self.options.default_deadline_ms)
        turns = self._turns.setdefault(
            asyncio.get_running_loop(), asyncio.Semaphore(self.options.max_calls)
        )
        try:
            if turns.locked():
                await asyncio.wait_for(turns.acquire(), deadline.remaining_s())
            else:
                await turns.acquire()
        except TimeoutError:
            raise DeadlinePassed(f"features of {entity!r}", deadline.budget_ms) from None
        try:
            return await self._line.ask(body, entity, deadline)
        except (Unreachable, Overloaded) as away:
            raise StoreUnreachable(f"features of {entity!r}: {away}") from away
        finally:
            turns.release()

    def close(self) -> None:
        self._line.close()


class RemoteFeatures:
    """Implements `engine.ports.FeatureReader`. The schema says how values are stored; without
    one they are taken to be stored as they are wanted."""

    is_local = False

    def __init__(self, line: FeatureLine, schema: FeatureSchema | None) -> None:
        self._line = line
        self._schema = schema

    def prepare(self, read: FeatureRead) -> RemoteRead:
        """Raises NotFound when the schema has no such thing."""
        return RemoteRead(read, self._line, self._schema)


class RemoteRead:
    def __init__(self, read: FeatureRead, line: FeatureLine, schema: FeatureSchema | None) -> None:
        self._entity = read.entity
        self._line = line
        self._query = FeatureQuery(read)
        self._answers = AnswerReader(line.address, expected_groups(read, schema))
        self._flights: Flights[FeatureRows] = Flights()

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        deadline.check(f"features of {self._entity!r}")
        messages = key_messages(keys)

        async def ask(wanted: Sequence[bytes]) -> FeatureRows:
            body = await self._line.ask(self._query.of(wanted), self._entity, deadline)
            return self._answers.read(body, wanted)

        waiting = self._flights.answers(messages, ask)
        left_s = deadline.remaining_s()
        try:
            # A call of somebody else's may go on for longer than we have time.
            parts = await (waiting if left_s == inf else asyncio.wait_for(waiting, left_s))
        except TimeoutError:
            raise DeadlinePassed(f"features of {self._entity!r}", deadline.budget_ms) from None
        return _together(parts, len(messages))


def _together(parts: Sequence[Part[FeatureRows]], count: int) -> FeatureRows:
    """Rows of several answers in the order of the keys."""
    positions, answer, rows = parts[0]
    if len(positions) == count and isinstance(rows, range):  # one call for all, in their order
        return answer
    taken = joined([only(answer, np.array(rows, np.intp)) for _, answer, rows in parts])
    order = np.empty(count, np.intp)
    order[[at for positions, _, _ in parts for at in positions]] = np.arange(count)
    return only(taken, order)
