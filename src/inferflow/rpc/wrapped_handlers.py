"""Handlers with something around every method: a check, a span.

What is put around a method is made once and kept for as long as the method is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from inferflow.rpc.refusing import Refusing

Handler = Any
"""A method's handler: gRPC's own type tells nothing about what is in it."""
Wrap = Callable[[str, Handler], Handler]
"""Given a method's path and its handler, the handler that is called instead."""


class WrappedHandlers(grpc.GenericRpcHandler):
    def __init__(self, handlers: grpc.GenericRpcHandler, wrap: Wrap) -> None:
        self._handlers = handlers
        self._wrap = wrap
        self._known: dict[str, tuple[Handler, Handler]] = {}

    def service(self, details: grpc.HandlerCallDetails) -> Handler:
        inner: Handler = self._handlers.service(details)  # asked every time, for it may count calls
        if inner is None or isinstance(inner, Refusing):
            return inner
        path = str(details.method)
        known = self._known.get(path)
        if known is None or known[0] is not inner:
            known = self._known[path] = (inner, self._wrap(path, inner))
        return known[1]
