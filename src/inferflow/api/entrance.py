"""Where a call is first seen, before its message is read.

A server with more calls than it can answer says so to most of them. What is refused here costs it
the least: neither the message nor the caller's key is looked at. Everybody else is let in, and may
still be refused, by those who know how much time a call has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc

from inferflow.rpc.admission import Admission
from inferflow.rpc.refusing import Refusing
from inferflow.rpc.turns import Turns


class Entrance(grpc.GenericRpcHandler):
    """Handlers of a service, and by path what refuses a call instead of them."""

    def __init__(
        self,
        handlers: grpc.GenericRpcHandler,
        refusing: Mapping[str, Refusing],
        *,
        turns: Turns,
        admission: Admission,
    ) -> None:
        self._handlers = handlers
        self._refusing = refusing
        self._turns = turns
        self._admission = admission

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        self._turns.came()
        if self._turns.is_full or self._admission.is_full:
            return self._refusing.get(details.method)
        return self._handlers.service(details)
