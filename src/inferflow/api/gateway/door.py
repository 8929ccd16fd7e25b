"""Nobody gets past a route's rule, before a byte of the body is read.

A browser cannot send headers with a WebSocket: there the first message may hold the key, within a
few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from fastapi import Request, WebSocket
from starlette.exceptions import WebSocketException
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from inferflow.access import KeyCard, Permission
from inferflow.access.gate import Credentials, Gate, OpenGate
from inferflow.api.bearer import bearer
from inferflow.api.gateway.failing import refusal, request_id_of
from inferflow.api.gateway.ports import ANYBODY, Caller
from inferflow.api.gateway.rates import Rates
from inferflow.api.gateway.rules import RULES, Rule, is_change
from inferflow.api.gateway.shielding import source_of
from inferflow.errors import EngineFault, InferflowError, TooManySockets, Unauthenticated
from inferflow.rpc.headers import AUTHORIZATION
from inferflow.telemetry.audit import audited

WHAT = "an API key"
_KEY_WITHIN_S = 5.0
_POLICY, _TRY_AGAIN = 1008, 1013
_HEADER = AUTHORIZATION.encode()
_WRONG = 400
_LONGEST = 200
"""Of a path, as far as the log tells it."""


class Door:
    def __init__(self, gate: Gate | OpenGate, rates: Rates) -> None:
        self._gate = gate
        self._rates = rates

    @property
    def is_open(self) -> bool:
        return self._gate.is_open

    def guard(self, route: BaseRoute) -> None:
        """Put a route behind its rule. Raises EngineFault when it has none."""
        if not isinstance(route, Route | WebSocketRoute):
            raise EngineFault(f"{route!r} cannot be guarded")
        rule, name = rule_of(route)
        guarded = self._guarded(route.app, rule)
        route.app = _noted(guarded, name) if is_change(name) else guarded

    async def admit(self, scope: Scope, rule: Rule, key: str, *, counts: bool = True) -> Caller:
        """Unless it `counts` not, it is one of the calls that the caller's rate allows. Raises
        Unauthenticated, PermissionDenied or RateLimited."""
        if rule.needs is None:
            return ANYBODY
        about = scope["path_params"].get(rule.about) if rule.about else None
        shown = Credentials(key=key, source=source_of(scope))
        card = await self._gate.admit(shown, needs=rule.needs, model=about, counts=counts)
        if rule.also is not None:
            card.require(rule.also)
        caller = ANYBODY if self._gate.is_open else _caller(card, key)
        if counts:
            self._rates.take(caller, shown.source)
        return caller

    async def identify(self, scope: Scope, key: str) -> Caller:
        """Whose key it is, whatever it is good for. Raises Unauthenticated or RateLimited."""
        shown = Credentials(key=key, source=source_of(scope))
        with self.counting():
            return _caller(await self._gate.admit(shown, needs=frozenset(Permission)), key)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Whoever is turned away in this block counts as such."""
        try:
            yield
        except InferflowError as refused:
            self._gate.refusals.note_unknown(refused)
            raise

    def _guarded(self, app: ASGIApp, rule: Rule) -> ASGIApp:
        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            state: dict[str, Any] = {**scope.get("state", {})}
            scope["state"] = state
            if scope["type"] == "http":
                with self.counting():
                    state["caller"] = await self.admit(scope, rule, shown_key(scope))
            else:
                state["door"], state["rule"] = self, rule
            await app(scope, receive, send)

        return guarded


def rule_of(route: Route | WebSocketRoute) -> tuple[Rule, str]:
    """A route's rule, and the name it has there."""
    verbs = sorted(route.methods or ()) if isinstance(route, Route) else ["WS"]
    names = [f"{verb} {route.path}" for verb in verbs if verb != "HEAD"]
    rule = RULES.get(names[0]) if len(names) == 1 else None
    if rule is None:
        raise EngineFault(f"{' '.join(verbs)} {route.path} has no rule in api/gateway/rules.py")
    return rule, names[0]


def _noted(app: ASGIApp, name: str) -> ASGIApp:
    """A route that changes something, and a line in the log who used it."""

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        outcome = "refused"

        async def noting(message: Message) -> None:
            nonlocal outcome
            if message["type"] == "http.response.start":
                status = message["status"]
                outcome = "ok" if status < _WRONG else f"status {status}"
            await send(message)

        try:
            await app(scope, receive, noting)
        finally:
            caller = scope.get("state", {}).get("caller")
            by = (caller.key_id or "") if caller is not None else ""
            audited(name, by=by, subject=scope["path"][:_LONGEST], outcome=outcome)

    return noted


def shown_key(scope: Scope) -> str:
    """The key in the headers, empty without one. Raises Unauthenticated for what is none."""
    shown = [
        (AUTHORIZATION, value.decode("latin-1"))
        for name, value in scope["headers"]
        if name == _HEADER
    ]
    return bearer(shown, what=WHAT) if shown else ""


def _caller(card: KeyCard, key: str) -> Caller:
    has_own_rate = card.rate is not None
    return Caller(card.key_id, card.name, card.permissions, key, has_own_rate, card.models)


def caller_of(request: Request) -> Caller:
    """Who asks, for a route that the door has let them through to."""
    caller: Caller = request.state.caller
    return caller


async def admit_socket(websocket: WebSocket) -> Caller:
    """Accept a socket and let its caller in by the route's rule; with a problem as its only
    message, and closed, when they may not."""
    door: Door = websocket.state.door
    rule: Rule = websocket.state.rule
    await websocket.accept()
    try:
        with door.counting():
            key = shown_key(websocket.scope)
            if not key and rule.needs is not None and not door.is_open:
                key = await _first_message(websocket)
            caller = await door.admit(websocket.scope, rule, key)
        websocket.state.seat.belongs_to(caller.key_id)
        return caller
    except InferflowError as refused:
        response = refusal(refused, websocket.url.path, request_id_of(websocket.scope))
        await websocket.send_text(bytes(response.body).decode())
        code = _TRY_AGAIN if isinstance(refused, TooManySockets) else _POLICY
        raise WebSocketException(code, str(refused)[:100]) from refused


async def readmit(websocket: WebSocket, caller: Caller, *, counts: bool = True) -> None:
    """One more message of a caller who may have lost its rights since. Raises as `Door.admit`
    does."""
    door: Door = websocket.state.door
    rule: Rule = websocket.state.rule
    with door.counting():
        await door.admit(websocket.scope, rule, caller.credential, counts=counts)


async def still_may(websocket: WebSocket, caller: Caller) -> None:
    """The same for a caller who says nothing."""
    await readmit(websocket, caller, counts=False)


async def _first_message(websocket: WebSocket) -> str:
    try:
        async with asyncio.timeout(_KEY_WITHIN_S):
            message = orjson.loads(await websocket.receive_text())
    except (TimeoutError, orjson.JSONDecodeError, WebSocketDisconnect, KeyError):
        message = None
    if not isinstance(message, dict) or message.get("type") != "auth":
        raise Unauthenticated('the first message must be {"type": "auth", "key": "ifk_…"}')
    key = message.get("key")
    if not isinstance(key, str):
        raise Unauthenticated("the first message has no key")
    return key
