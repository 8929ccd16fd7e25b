"""What a transaction compares, and what it does when everything compared is so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inferflow._proto.pool import message_class

_MOD_REVISION = 2


@dataclass(frozen=True, slots=True)
class Same:
    """A key was last written at this revision; 0: it is not there."""

    key: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Put:
    key: bytes
    value: bytes
    lease: int = 0
    """The key goes when this lease does; 0: it stays."""


@dataclass(frozen=True, slots=True)
class Delete:
    key: bytes


def txn_request(when: Iterable[Same], then: Iterable[Put | Delete]) -> Any:
    request = message_class("etcdserverpb.TxnRequest")()
    for same in when:
        request.compare.add(target=_MOD_REVISION, key=same.key, mod_revision=same.revision)
    for change in then:
        operation = request.success.add()
        if isinstance(change, Put):
            put = operation.request_put
            put.key, put.value, put.lease = change.key, change.value, change.lease
        else:
            operation.request_delete_range.key = change.key
    return request
