"""The client. One channel, and every call with a deadline.

A call that met no server, or one that was leaving, is made again after a pause that doubles, as
long as its deadline and the number of attempts allow. That is safe: scoring changes nothing.
Of calls that a server would refuse for load, some are not sent at all; see `throttling`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf, isnan
from types import TracebackType
from typing import Any

import grpc

from inferflow.client.budget import RetryBudget
from inferflow.client.columns import ValueEncoding, check_text
from inferflow.client.connecting import THROTTLE
from inferflow.client.explaining import (
    GET_RECORDING,
    LIST_CONFIGS,
    LIST_RECORDINGS,
    METHODS,
    configs_request,
    explained_item,
    explained_run,
    has_begun,
    read_document,
    recording_request,
    recordings_request,
)
from inferflow.client.failures import AWAY, Refusal, error_of, no_place_ms
from inferflow.client.incoming import incoming
from inferflow.client.outgoing import Outgoing, outgoing
from inferflow.client.pausing import pause
from inferflow.client.throttling import Throttle
from inferflow.engine.asking import Asking
from inferflow.engine.deadline import Clock, Deadline
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    InferflowError,
    InvalidInput,
    InvalidRequest,
    NotFound,
    PermissionDenied,
)
from inferflow.explanation import Explanation
from inferflow.rpc.channel import open_channel
from inferflow.rpc.headers import APP_VERSION, AUTHORIZATION, EXPLAIN, RECORDING, TARGET, USER_ID
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.scores import Scores

_PATHS = ("/Predict/InferPointWise", "/Predict/InferPairWise", "/Predict/InferSlateWise")

_HEALTH = "/grpc.health.v1.Health/Check"
_HEALTH_S = 1.0
_SERVING = b"\x08\x01"
"""The status SERVING, as the health protocol writes it."""

_HEADER_TEXT = "a header holds printable ASCII text"

Wait = Callable[[float], Awaitable[object]]
Trailing = Mapping[str, str | bytes]
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ClientOptions:
    deadline_ms: float | None
    """For calls that name none; None lets them take as long as they like."""
    attempts: int
    """Tries per call, the first included."""
    values: ValueEncoding = "typed"
    tenant_id: str = ""
    app_version: str = ""
    key: str = field(default="", repr=False)
    """The API key to show; none when empty."""
    tls: ChannelTls | None = None
    throttle: float | None = THROTTLE
    """How many times as many calls as a server takes are sent to it; None sends all."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidInput(f"attempts={self.attempts}: a call is made at least once")
        if self.values not in ("typed", "text"):
            raise InvalidInput(f"values={self.values!r}: 'typed' or 'text' is wanted")
        if not _fits_header(self.app_version):
            raise InvalidInput(f"app_version={self.app_version!r}: {_HEADER_TEXT}")
        if not _fits_header(self.key):
            raise InvalidInput(f"key: {_HEADER_TEXT}")
        check_text(self.tenant_id, "tenant_id", "an id")
        _budget(self.deadline_ms)


class AsyncClient(Asking[Coroutine[Any, Any, Scores]]):
    """A client for the event loop it was made in. Close it, or use it in `async with`."""

    def __init__(
        self,
        addresses: str | Sequence[str],
        options: ClientOptions,
        *,
        wait: Wait = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        clock: Clock = time.monotonic,
    ) -> None:
        listed = addresses.split(",") if isinstance(addresses, str) else list(addresses)
        self.addresses = ", ".join(map(str.strip, listed))
        self._options = options
        version = options.app_version
        self._shown = ((AUTHORIZATION, f"Bearer {options.key}"),) if options.key else ()
        self._headers = ((APP_VERSION, version),) if version else ()
        self._wait = wait
        self._chance = chance
        self._throttle = Throttle(options.throttle, clock=clock, chance=chance)
        self._repetitions = RetryBudget(clock=clock)
        # Repeated here and not by gRPC, which knows attempts but no patience. With several
        # servers, one that drains is left out before it refuses calls.
        channel = ChannelOptions(attempts=1, watch_health=len(listed) > 1, tls=options.tls)
        self._channel = open_channel(listed, channel)
        self._servers = len(listed)
        self.items: Callable[[str, str], Explanation] = _refuse_item
        """Gets an item of a recording, for those who do not wait."""
        self._calls: dict[str, Any] = {
            path: self._channel.unary_unary(path) for path in (*_PATHS, *METHODS, _HEALTH)
        }
        self._is_closed = False

    async def answer(
        self, request: ScoreRequest | Mapping[str, Any], headers: Headers = ()
    ) -> Scores:
        """Score a request, as an object or in its JSON form. `headers` travel beside it."""
        if not isinstance(request, ScoreRequest):
            request = request_from(request)
        sent = outgoing(request, self._options.values, self._options.tenant_id)
        body, trailing = await self._called(
            f"/Predict/{sent.method}",
            sent.body,
            request.config_id,
            request.deadline_ms,
            (*self._headers, *_target_header(sent), *headers_of(request), *headers),
        )
        scores = incoming(request.config_id, sent, body, trailing)
        scores.recording = str(trailing.get(RECORDING, ""))
        if request.explain and not scores.recording:
            why = str(trailing.get(EXPLAIN, "")) or "this server does not record requests"
            scores.recorder = partial(self._refused, why)
        elif scores.recording:
            scores.recorder = partial(self.explanation, scores.recording)
        else:
            scores.recorder = partial(self.explain, request.config_id, request)
        return scores

    # --- what happened ----------------------------------------------------------------------

    async def explain(
        self, config_id: str, request: ScoreRequest | Mapping[str, Any]
    ) -> Explanation:
        """Score a request, watched, and say what happened; when it failed, up to the step it
        failed at."""
        if not isinstance(request, ScoreRequest):
            request = request_from(request, config_id=config_id)
        try:
            scores = await self.answer(replace(request, config_id=config_id, explain=True))
        except InferflowError as failed:
            if not failed.recording:
                raise
            document = await self.recording(failed.recording, "")
            if not has_begun(document):
                raise
            return explained_run(document, partial(self.items, failed.recording))
        explained: Explanation = await scores.explain()
        return explained

    async def explanation(self, recording: str, item: object = "") -> Explanation:
        """What a server keeps of a request; with `item`, every column of one of its targets.

        Raises NotFound when it was never kept, or had to make room for others."""
        document = await self.recording(recording, str(item))
        if item != "":
            return explained_item(document)
        return explained_run(document, partial(self.items, recording))

    async def recordings(self, last: int = 0) -> list[dict[str, Any]]:
        """Requests a server keeps: slow, failed, or asked for. Newest first; 0: all of them."""
        body, _ = await self._called(LIST_RECORDINGS, recordings_request(last), LIST_RECORDINGS)
        listed: list[dict[str, Any]] = read_document(body)
        return listed

    async def configs(self) -> list[dict[str, Any]]:
        """How each config stands: what serves, since when, and what is wrong with it."""
        body, _ = await self._called(LIST_CONFIGS, configs_request(), LIST_CONFIGS)
        listed: list[dict[str, Any]] = read_document(body)
        return listed

    async def recording(self, recording: str, item: str = "") -> dict[str, Any]:
        """What `explanation` is made of, as plain values."""
        body = recording_request(recording, item)
        for server in range(self._servers):  # they take turns, and one of them has it
            try:
                answer, _ = await self._called(GET_RECORDING, body, recording)
                document: dict[str, Any] = read_document(answer)
                return document
            except NotFound:
                if server == self._servers - 1:
                    raise NotFound("recording", recording) from None
        raise EngineFault("a client has at least one server")

    async def is_serving(self) -> bool:
        """Whether a server says that it may be called."""
        self._check_open()
        try:
            answer: bytes = await self._calls[_HEALTH](b"", timeout=_HEALTH_S)
        except grpc.aio.AioRpcError:
            return False
        return answer == _SERVING

    async def _refused(self, why: str) -> Explanation:
        raise PermissionDenied(why)

    # --- calling ----------------------------------------------------------------------------

    async def _called(
        self,
        method: str,
        body: bytes,
        about: str,
        deadline_ms: float | None = None,
        headers: Headers = (),
    ) -> tuple[bytes, Trailing]:
        """`about` is what a failure is told to be about: a config, mostly."""
        self._check_open()
        given = self._options.deadline_ms if deadline_ms is None else deadline_ms
        deadline = Deadline(_budget(given))
        self._throttle.check()
        self._repetitions.count_call()
        for attempt in count(1):
            left_s = deadline.remaining_s()
            if left_s == 0:
                break
            call = self._calls[method](
                body, timeout=None if left_s == inf else left_s, metadata=(*self._shown, *headers)
            )
            try:
                answer: bytes = await call
                self._throttle.ended()
                return answer, dict(await call.trailing_metadata() or ())
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._is_closed or (task is not None and task.cancelling()):
                    raise
                raise InvalidInput("this client was closed during the call") from None
            except grpc.aio.AioRpcError as refused:
                refusal = self._refusal(refused, about, deadline, attempt)
                self._throttle.ended(no_place_ms(refusal))
                pause_s = pause(attempt, self._chance())
                is_in_time = attempt < self._options.attempts and pause_s < deadline.remaining_s()
                if not is_in_time or not self._may_repeat(refusal.code):
                    raise error_of(refusal) from refused
            await self._wait(pause_s)
        raise DeadlinePassed(f"{about!r} at {self.addresses}", deadline.budget_ms)

    def _may_repeat(self, code: grpc.StatusCode) -> bool:
        if code is grpc.StatusCode.CANCELLED:  # by a server that leaves, or has too much to do
            return self._repetitions.take()
        return code in AWAY

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidInput("this client is closed")

    def _refusal(
        self,
        refused: grpc.aio.AioRpcError,
        about: str,
        deadline: Deadline,
        attempts: int,
    ) -> Refusal:
        return Refusal(
            refused.code(),
            refused.details() or "",
            dict(refused.trailing_metadata() or ()),
            about,
            self.addresses,
            deadline.budget_ms,
            attempts,
        )

    async def close(self) -> None:
        """Calls under way are cancelled."""
        self._is_closed = True
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _refuse_item(recording: str, item: str) -> Explanation:
    raise InvalidInput(f"ask for it: await client.explanation({recording!r}, {item!r})")


def _budget(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or isnan(given):
        raise InvalidRequest("deadline_ms", f"{given!r} is not a number of milliseconds")
    return float(given)


def _fits_header(text: Any) -> bool:
    return isinstance(text, str) and text.isascii() and text.isprintable()


def _target_header(sent: Outgoing) -> tuple[tuple[str, str], ...]:
    return ((TARGET, sent.target),) if _fits_header(sent.target) else ()


def headers_of(request: ScoreRequest) -> tuple[tuple[str, str], ...]:
    """What travels beside a request. Raises InvalidRequest when it cannot."""
    asks = ((EXPLAIN, "1"),) if request.explain else ()
    who = request.user_id
    if not who:
        return asks
    if not _fits_header(who):
        raise InvalidRequest("for_user", f"{who!r}: {_HEADER_TEXT}", "give it as an entity")
    return ((USER_ID, who), *asks)
