"""The three calls of a feature store: bytes in, bytes out.

A store that cannot be asked is an error, never a row of defaults. Callers that want to know where
values come from, and how old they are, ask with a header.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
import numpy as np

from inferflow._proto.pool import message_class
from inferflow.api.features import answering
from inferflow.api.features.asking import Asked, distinct, key_columns, parse_query
from inferflow.api.features.persisting import read_writing
from inferflow.api.features.selection import Groups, Selection, select
from inferflow.api.guard import admitted
from inferflow.api.status import status_of, text_of
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRows, PreparedRead, ReadState
from inferflow.engine.scorer import finish
from inferflow.errors import EngineFault, InferflowError, InvalidRequest, Overloaded
from inferflow.featurestore import FeatureStore
from inferflow.rpc.admission import Admission
from inferflow.rpc.headers import PRESENCE, PUSHBACK, RETRY_AFTER

log = logging.getLogger(__name__)

RETRIEVE, PERSIST = "retrieve.FeatureService", "persist.FeatureService"
SERVICES = (RETRIEVE, PERSIST)

_Persisted = message_class("persist.Result")

_MANY_VALUES = 50_000
"""More take a millisecond or more, so a thread works on them."""
_MOST_SELECTIONS = 256

ANYBODY = "anybody"
"""The caller where nobody has to say who it is."""

Context = Any
Find = Callable[[], FeatureStore]
"""The store as it is now: under a new schema it is another one."""
Write = Callable[[Selection, Any, answering.Found, bytes], bytes]


@dataclass(frozen=True, slots=True)
class FeaturePolicy:
    default_deadline_ms: float = 1_000
    max_deadline_ms: float = 10_000
    max_keys: int = 10_000


@dataclass(slots=True)
class FeatureCall:
    """What is known of one call when it has ended."""

    method: str
    entity: str = ""
    """Empty when there is no such entity."""
    caller: str = ""
    outcome: str = "cancelled"
    """`ok`, or whose fault it was."""
    keys: int = 0
    states: dict[str, dict[str, int]] = field(default_factory=dict)
    """Group → where rows came from → how many."""
    duration_s: float = 0.0


Answer = Callable[[bytes, FeatureCall, Context], Awaitable[bytes]]


class FeatureObserver(Protocol):
    def call_ended(self, call: FeatureCall) -> None: ...


class FeatureService:
    def __init__(
        self,
        find: Find,
        *,
        admission: Admission,
        policy: FeaturePolicy | None = None,
        observer: FeatureObserver | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._find = find
        self._admission = admission
        self._policy = policy or FeaturePolicy()
        self._observer = observer
        self._now = now
        self._prepared = _Prepared()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """To be registered with a server. They see raw bytes: what does not parse is our answer."""
        calls: dict[str, dict[str, Answer]] = {
            RETRIEVE: {
                "RetrieveFeatures": self._retrieve,
                "RetrieveDecodedResult": self._retrieve_decoded,
            },
            PERSIST: {"PersistFeatures": self._persist},
        }
        handlers = []
        for service, methods in calls.items():
            told: dict[str, Any] = {
                name: grpc.unary_unary_rpc_method_handler(self._told(name, answer))
                for name, answer in methods.items()
            }
            handlers.append(grpc.method_handlers_generic_handler(service, told))
        return handlers

    def _told(
        self,
        method: str,
        answer: Answer,
    ) -> Callable[[bytes, Context], Awaitable[bytes]]:
        """Answers a call, and tells how it ended."""

        async def handle(body: bytes, context: Context) -> bytes:
            began = time.perf_counter()
            by = admitted()
            call = FeatureCall(method, caller=by.name if by else ANYBODY)
            try:
                with self._admission.admitted():
                    reply = await self._guarded(answer(body, call, context), method)
                    call.outcome = "ok"
                    return reply
            except InferflowError as failed:
                call.outcome = failed.fault.value
                await context.abort(status_of(failed).grpc, text_of(failed), _hints(failed))
                raise  # not reached: abort raises
            finally:
                call.duration_s = time.perf_counter() - began
                if self._observer is not None:
                    self._observer.call_ended(call)

        return handle

    async def _guarded(self, answering: Awaitable[bytes], method: str) -> bytes:
        try:
            return await answering
        except InferflowError:
            raise
        except Exception as unexpected:  # the boundary of a call: the process lives on
            log.exception("call_failed", extra={"method": method})
            raise EngineFault(f"{type(unexpected).__name__} while answering") from unexpected

    # --- reading ----------------------------------------------------------------------------

    async def _retrieve(self, body: bytes, call: FeatureCall, context: Context) -> bytes:
        return await self._read(body, call, context, answering.result)

    async def _retrieve_decoded(self, body: bytes, call: FeatureCall, context: Context) -> bytes:
        return await self._read(body, call, context, answering.decoded_result)

    async def _read(self, body: bytes, call: FeatureCall, context: Context, write: Write) -> bytes:
        asked = parse_query(body)
        if len(asked.keys) > self._policy.max_keys:
            limit = self._policy.max_keys
            raise InvalidRequest("keys", f"{len(asked.keys)} where {limit} are allowed at once")
        store = self._find()
        selection, read = self._prepared.get(store, asked)
        call.entity, call.keys = asked.entity, len(asked.keys)
        keys, inverse = distinct(asked.keys)
        columns = key_columns(keys, asked.keys_schema)
        rows = FeatureRows(())
        if keys and read is not None:
            is_heavy = len(keys) * len(selection.columns) > _MANY_VALUES
            fetching = read.fetch(columns, deadline=self._deadline(context))
            if is_heavy and store.is_local:
                rows = await asyncio.to_thread(finish, fetching)
            else:
                rows = await fetching
            _count(selection, rows, len(keys), call)
        found = answering.Found(rows, len(keys), inverse)
        presence = b""
        if _wants_presence(context):
            presence = answering.presence(selection, found, int(self._now() * 1000))
        if len(asked.keys) * len(selection.columns) > _MANY_VALUES:
            return await asyncio.to_thread(write, selection, asked.keys, found, presence)
        return write(selection, asked.keys, found, presence)

    def _deadline(self, context: Context) -> Deadline:
        left_s = context.time_remaining()
        policy = self._policy
        budget_ms = policy.default_deadline_ms if left_s is None else left_s * 1000
        return Deadline(min(budget_ms, policy.max_deadline_ms))

    # --- writing ----------------------------------------------------------------------------

    async def _persist(self, body: bytes, call: FeatureCall, _: Context) -> bytes:
        # A write that has begun is seen through, whoever waits for it: hence the shield.
        return await asyncio.shield(asyncio.to_thread(self._write, body, call))

    def _write(self, body: bytes, call: FeatureCall) -> bytes:
        store = self._find()
        writing = read_writing(body, store.schema)
        call.entity = writing.entity
        if writing.batch is not None:
            call.keys = store.write(writing.entity, writing.batch)
        done: bytes = _Persisted(message=f"{call.keys} row(s) written").SerializeToString()
        return done


class _Prepared:
    """What queries of the same shape share, as long as the store is the same."""

    def __init__(self) -> None:
        self._store: FeatureStore | None = None
        self._known: dict[
            tuple[str, Groups, tuple[str, ...]], tuple[Selection, PreparedRead | None]
        ] = {}

    def get(self, store: FeatureStore, asked: Asked) -> tuple[Selection, PreparedRead | None]:
        if store is not self._store:
            self._store, self._known = store, {}
        shape = (asked.entity, asked.groups, asked.keys_schema)
        found = self._known.get(shape)
        if found is None:
            selection = select(store.schema, *shape)
            read = store.prepare(selection.read) if selection.columns else None
            if len(self._known) >= _MOST_SELECTIONS:
                self._known.pop(next(iter(self._known)))
            found = self._known[shape] = (selection, read)
        return found


def _count(selection: Selection, rows: FeatureRows, keys: int, call: FeatureCall) -> None:
    for wanted, group in zip(selection.read.groups, rows.groups, strict=True):
        if group.states is None:
            call.states[wanted.label] = {"real": keys}
            continue
        counts = np.bincount(group.states, minlength=len(ReadState)).tolist()
        call.states[wanted.label] = {
            state.name.lower(): counts[state] for state in ReadState if counts[state]
        }


def _wants_presence(context: Context) -> bool:
    return any(name == PRESENCE for name, _ in context.invocation_metadata() or ())


def _hints(error: InferflowError) -> tuple[tuple[str, str], ...]:
    if isinstance(error, Overloaded):
        wait = str(error.retry_after_ms)
        return ((RETRY_AFTER, wait), (PUSHBACK, wait))
    return ()
