"""etcd's calls as blocking methods, each with a deadline.

A member that does not answer is passed over for the next one; a login that etcd has forgotten is
made again. Reads are linearizable: they see everything that was written before they began.

A transaction that failed with Unreachable may have happened all the same. Whoever sends one must
be able to recognise what it wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.errors import InferflowError, InvalidInput
from inferflow.rpc.etcd.change import Delete, Put, Same, txn_request
from inferflow.rpc.etcd.entries import Entry, Listing
from inferflow.rpc.etcd.failures import AUTH_IS_OFF, AWAY, is_stale_login, translated
from inferflow.rpc.etcd.members import EtcdOptions, Members

Metadata = tuple[tuple[str, str | bytes], ...]
PAGE = 1024
"""Keys per answer when a range is read; fewer where values are large."""
_AWAY_TWICE = 2
"""A connection that broke unnoticed fails the call that finds out; so even one member is asked
twice."""


class EtcdClient:
    """Speaks to one etcd. Safe for threads; close it at the end."""

    def __init__(self, options: EtcdOptions) -> None:
        self.options = options
        self.members = Members(options)
        self._has_answered = False
        self._login = threading.Lock()
        self._token = ""

    def close(self) -> None:
        self.members.close()

    # --- keys -------------------------------------------------------------------------------

    def get(self, key: bytes) -> Entry | None:
        return self.listing(key, b"").entries.get(key)

    def listing(self, start: bytes, end: bytes, *, keys_only: bool = False) -> Listing:
        """Every key from `start` up to `end`, at one revision; with an empty `end`, one key."""
        entries: dict[bytes, Entry] = {}
        revision, limit = 0, PAGE
        while True:
            request = message_class("etcdserverpb.RangeRequest")(
                key=start, range_end=end, limit=limit, revision=revision, keys_only=keys_only
            )
            try:
                answer = self._ask("KV/Range", request, "RangeResponse")
            except InvalidInput:  # so many values of this size do not fit into an answer
                if limit == 1:
                    raise
                limit //= 4
                continue
            revision = revision or answer.header.revision
            entries.update((kv.key, Entry(kv.value, kv.mod_revision)) for kv in answer.kvs)
            if not answer.more:
                return Listing(revision, entries)
            start = answer.kvs[-1].key + b"\0"

    def change(self, when: Iterable[Same], then: Iterable[Put | Delete]) -> int:
        """Do all of it if everything compared is so, else nothing. The revision it happened at,
        or 0."""
        answer = self._ask("KV/Txn", txn_request(when, then), "TxnResponse")
        return int(answer.header.revision) if answer.succeeded else 0

    def compact(self, revision: int) -> None:
        """Forget what keys were before a revision."""
        request = message_class("etcdserverpb.CompactionRequest")(revision=revision)
        self._ask("KV/Compact", request, "CompactionResponse")

    # --- leases -----------------------------------------------------------------------------

    def grant(self, ttl_s: int) -> int:
        """A lease, alive until it was not kept for so long."""
        request = message_class("etcdserverpb.LeaseGrantRequest")(TTL=ttl_s)
        return int(self._ask("Lease/LeaseGrant", request, "LeaseGrantResponse").ID)

    def keep(self, lease: int) -> bool:
        """Keep a lease alive. False when it is gone, and its keys with it."""
        request = message_class("etcdserverpb.LeaseKeepAliveRequest")(ID=lease)
        answer = self._ask("Lease/LeaseKeepAlive", request, "LeaseKeepAliveResponse", stream=True)
        return bool(answer.TTL > 0)

    def revoke(self, lease: int) -> None:
        """End a lease, and delete its keys."""
        request = message_class("etcdserverpb.LeaseRevokeRequest")(ID=lease)
        self._ask("Lease/LeaseRevoke", request, "LeaseRevokeResponse")

    # --- asking -----------------------------------------------------------------------------

    def open_stream(self, method: str, requests: Iterator[Any], answer: str) -> tuple[int, Any]:
        """A stream to the member that is asked now, and the member's number."""
        number, channel, address = self.members.current()
        try:
            metadata = self._metadata()
        except grpc.RpcError as error:
            self.members.skip(number)
            raise translated(error, address) from error
        # A member that has lost its leader would keep the stream open, and say nothing.
        metadata = (*metadata, ("hasleader", "true"))
        return number, _stream(channel, method, answer)(requests, metadata=metadata)

    def log_in_again(self, than: str | None = None) -> None:
        """Forget the login, unless it is another one already than the one that failed."""
        with self._login:
            if than is None or than == self._token:
                self._token = ""

    def _ask(self, method: str, request: Any, answer: str, *, stream: bool = False) -> Any:
        """One question, asked of one member after another until one answers."""
        last: InferflowError | None = None
        has_logged_in = False
        left = max(_AWAY_TWICE, len(self.members))
        while left:
            number, channel, address = self.members.current()
            token = ""
            try:
                metadata = self._metadata()
                token = self._token
                found = self._once(channel, method, request, answer, metadata, stream)
            except grpc.RpcError as error:
                if is_stale_login(error) and self.options.username and not has_logged_in:
                    has_logged_in = True
                    self.log_in_again(token)
                    continue
                last = translated(error, address)
                if error.code() not in AWAY:
                    raise last from error
                self.members.skip(number)
                left -= 1
                if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    break  # the time is up; the next call asks the next member
            else:
                self._has_answered = True
                return found
        assert last is not None
        raise last

    def _once(
        self,
        channel: grpc.Channel,
        method: str,
        request: Any,
        answer: str,
        metadata: Metadata,
        stream: bool,
    ) -> Any:
        options = self.options
        timeout_s = options.call_timeout_s if self._has_answered else options.dial_timeout_s
        if stream:
            call = _stream(channel, method, answer)(
                iter([request]), timeout=timeout_s, metadata=metadata
            )
            try:
                return next(call, message_class(f"etcdserverpb.{answer}")())
            finally:
                call.cancel()
        return channel.unary_unary(
            f"/etcdserverpb.{method}",
            request_serializer=_to_bytes,
            response_deserializer=message_class(f"etcdserverpb.{answer}").FromString,
        )(request, timeout=timeout_s, metadata=metadata)

    def _metadata(self) -> Metadata:
        if not self.options.username:
            return ()
        with self._login:
            if not self._token:
                self._token = self._authenticated()
            return (("token", self._token),) if self._token else ()

    def _authenticated(self) -> str:
        """A token; empty when etcd wants none."""
        _, channel, _ = self.members.current()
        request = message_class("etcdserverpb.AuthenticateRequest")(
            name=self.options.username, password=self.options.password
        )
        try:
            answer = self._once(
                channel, "Auth/Authenticate", request, "AuthenticateResponse", (), False
            )
        except grpc.RpcError as error:
            if AUTH_IS_OFF in (error.details() or ""):
                return ""
            raise
        return str(answer.token)


def _stream(channel: grpc.Channel, method: str, answer: str) -> Any:
    return channel.stream_stream(
        f"/etcdserverpb.{method}",
        request_serializer=_to_bytes,
        response_deserializer=message_class(f"etcdserverpb.{answer}").FromString,
    )


def _to_bytes(message: Any) -> bytes:
    found: bytes = message.SerializeToString()
    return found
