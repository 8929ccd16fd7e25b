"""One stream of the changes of a range, from one revision on.

It ends by raising: Compacted when etcd has forgotten changes that were asked for, Lost for
everything else. Nothing that came before the end is in doubt, so whoever reads on starts at the
revision after the last one it was given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.rpc.etcd.client import EtcdClient
from inferflow.rpc.etcd.entries import Entry
from inferflow.rpc.etcd.failures import is_stale_login

_DELETE = 1


class Compacted(Exception):
    """Changes between what was seen and what is there are gone: only a listing helps."""


class Lost(Exception):
    """The stream has ended."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What happened at one or more revisions, whole."""

    changes: tuple[tuple[bytes, int, Entry | None], ...]
    """Key, revision and what is there since; None when it was deleted."""
    revision: int
    """Everything up to it has been told."""
    begins: bool = False
    """Whether this only says that the watch has begun."""


class Watch:
    """Iterate over its batches, once; `cancel` ends that from any thread."""

    def __init__(self, client: EtcdClient, start: bytes, end: bytes, *, revision: int) -> None:
        self._client = client
        self._told = revision - 1
        self._open = threading.Event()
        create = message_class("etcdserverpb.WatchCreateRequest")(
            key=start, range_end=end, start_revision=revision, progress_notify=True
        )
        request = message_class("etcdserverpb.WatchRequest")(create_request=create)
        self._member, self._call = client.open_stream(
            "Watch/Watch", self._requests(request), "WatchResponse"
        )

    def cancel(self) -> None:
        self._open.set()
        self._call.cancel()

    def __iter__(self) -> Iterator[Batch]:
        try:
            for answer in self._call:
                yield self._batch(answer)
        except grpc.RpcError as error:
            self._client.members.skip(self._member)
            if is_stale_login(error):
                self._client.log_in_again()
            raise Lost(error.details() or error.code().name) from error
        finally:
            self.cancel()
        raise Lost("etcd has ended the stream")

    def _requests(self, first: Any) -> Iterator[Any]:
        yield first
        self._open.wait()  # etcd takes the end of what is asked for the end of the watch

    def _batch(self, answer: Any) -> Batch:
        if answer.compact_revision:
            raise Compacted(f"revisions before {answer.compact_revision} are gone")
        if answer.canceled:
            # Says the same for a token that has expired and for rights that are not there.
            self._client.log_in_again()
            raise Lost(answer.cancel_reason or "etcd has cancelled the watch")
        changes = tuple(
            (event.kv.key, event.kv.mod_revision, _entry(event)) for event in answer.events
        )
        if changes:
            # Not the header's: while a watch catches up, that is ahead of what has been told.
            self._told = max(self._told, changes[-1][1])
        elif not answer.created:
            self._told = max(self._told, answer.header.revision)
        return Batch(changes, self._told, begins=answer.created)


def _entry(event: Any) -> Entry | None:
    return None if event.type == _DELETE else Entry(event.kv.value, event.kv.mod_revision)
