"""Calls to one of several managers that share a database, from threads that wait.

A call goes to the manager that answered last. When that one is away, the others are tried in turn;
a call that changes something only if it certainly never left this machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import grpc

from inferflow._proto.pool import message_class
from inferflow.client.manager.failures import error_of, is_unsent
from inferflow.errors import InferflowError, InvalidInput, Unreachable
from inferflow.rpc.channel import open_blocking_channel
from inferflow.rpc.headers import AUTHORIZATION
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

Message = Any
T = TypeVar("T")

PACKAGE = "inferflow.serving.v1"
PATIENCE_S = 10.0


def declared(name: str) -> Any:
    """The class of one of the manager's messages."""
    return message_class(f"{PACKAGE}.{name}")


class ManagerCalls:
    """For any number of threads. Close it when done."""

    def __init__(
        self,
        addresses: Sequence[str],
        key: str = "",
        *,
        timeout_s: float = PATIENCE_S,
        tls: ChannelTls | None = None,
    ) -> None:
        """Waits for nobody. Raises InvalidInput for addresses that are none."""
        if not addresses:
            raise InvalidInput("no manager is named; use --manager host:port or INFERFLOW_MANAGER")
        self.addresses = tuple(addresses)
        self._timeout_s = timeout_s
        self._metadata = ((AUTHORIZATION, f"Bearer {key}"),) if key else ()
        # Retries are ours: gRPC's own would repeat calls that change something.
        options = ChannelOptions(attempts=1, tls=tls)
        self._channels = [open_blocking_channel(address, options) for address in self.addresses]
        self._at = 0
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        request: Message,
        answer: str,
        *,
        timeout_s: float | None = None,
        repeatable: bool = False,
    ) -> Message:
        """The answer to one message. `method` reads `Registry/ListModels`.

        `repeatable`: asking twice does no harm. Raises what the manager said, or Unreachable.
        """
        body = request.SerializeToString()

        def call(channel: grpc.Channel) -> bytes:
            stub: Any = channel.unary_unary(f"/{PACKAGE}.{method}")
            done: bytes = stub(body, timeout=timeout_s or self._timeout_s, metadata=self._metadata)
            return done

        return declared(answer).FromString(self._tried(method, call, repeatable=repeatable))

    def send(self, method: str, requests: Callable[[], Iterable[Message]], answer: str) -> Message:
        """The answer to a stream of messages. It is never repeated: only the sender knows from
        where to go on. What `requests` raises is raised here."""
        broke: list[Exception] = []

        def bodies() -> Iterator[bytes]:
            # gRPC asks for them in a thread of its own, and keeps to itself what goes wrong there.
            try:
                for each in requests():
                    yield each.SerializeToString()
            except Exception as failed:
                broke.append(failed)
                raise

        def call(channel: grpc.Channel) -> bytes:
            stub: Any = channel.stream_unary(f"/{PACKAGE}.{method}")
            done: bytes = stub(bodies(), metadata=self._metadata)
            return done

        try:
            body = self._tried(method, call, repeatable=False)
        except InferflowError:
            if broke:
                raise broke[0] from None
            raise
        return declared(answer).FromString(body)

    def stream(self, method: str, request: Message, answer: str) -> Iterator[Message]:
        """A stream of messages in answer to one, from the manager that answered last."""
        made = declared(answer)
        with self._lock:
            at = self._at
        stub: Any = self._channels[at].unary_stream(f"/{PACKAGE}.{method}")
        try:
            for body in stub(request.SerializeToString(), metadata=self._metadata):
                yield made.FromString(body)
        except grpc.RpcError as failed:
            self._move_on(at)
            raise self._told(failed, method, self.addresses[at]) from failed

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def _tried(self, method: str, call: Callable[[grpc.Channel], T], *, repeatable: bool) -> T:
        with self._lock:
            first = self._at
        failures: list[InferflowError] = []
        for step in range(len(self._channels)):
            at = (first + step) % len(self._channels)
            try:
                done = call(self._channels[at])
            except grpc.RpcError as failed:
                error = self._told(failed, method, self.addresses[at])
                unsent = is_unsent(failed.details() or "")
                if not isinstance(error, Unreachable) or not (repeatable or unsent):
                    raise error from failed
                failures.append(error)
                self._move_on(at)
            else:
                with self._lock:
                    self._at = at
                return done
        if len(failures) == 1:
            raise failures[0]
        why = "; ".join(dict.fromkeys(getattr(each, "why", str(each)) for each in failures))
        raise Unreachable(", ".join(self.addresses), len(failures), why)

    def _move_on(self, at: int) -> None:
        with self._lock:
            if self._at == at:
                self._at = (at + 1) % len(self._channels)

    def _told(self, failed: grpc.RpcError, method: str, address: str) -> InferflowError:
        call: Any = failed  # what a call raises is also the call
        trailing = dict(call.trailing_metadata() or ())
        return error_of(
            call.code(), call.details() or "", trailing, addresses=address, doing=method
        )
