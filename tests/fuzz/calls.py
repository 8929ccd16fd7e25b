"""Any bytes to any of the four calls, in this process, and what must hold whatever they are."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

from grpc import StatusCode

from inferflow.api.service import ScoringService
from inferflow.engine.limits import Limits
from inferflow.engine.scorer import Scorer
from inferflow.plan.book import PlanBook
from inferflow.rpc.admission import Admission

from ..unit.api.asking import LEGACY, PAIR, POINT, SLATE, add_feature, grouped, legacy, point
from ..unit.api.asking import text_point as text
from ..unit.api.calling import Aborted, CallContext, Caller
from ..unit.api.shop import configs, make_world

PATHS = (POINT, PAIR, SLATE, LEGACY)

_LONGEST_TEXT = 2100
"""Characters a refusal may have: it travels in a header."""

CALLERS_FAULT = {
    StatusCode.OK,
    StatusCode.INVALID_ARGUMENT,
    StatusCode.NOT_FOUND,
    StatusCode.FAILED_PRECONDITION,
}
"""How a call may end when only its bytes are at fault."""


def seeds() -> list[tuple[str, bytes]]:
    """Requests that are answered, one of each kind."""
    configured = ("ranker", "either", "shown", "numbers", "tenants", "broken", "bad")
    older = legacy("ranker", item_id=["1", "2"], user=["7"], hour=["20"])
    requests: list[tuple[str, Any]] = [
        *((POINT, point(name)) for name in configured),
        *((POINT, text(name)) for name in ("as_text", "either")),
        (PAIR, grouped("pairs", [[0, 1], [3, 2]], [1.0, 2.0])),
        (SLATE, grouped("slates", [[0, 1, 2], [3, 2, 2]], [1.0, 2.0])),
        (LEGACY, add_feature(older, "item_id", "boost", "1", "2.5")),
    ]
    return [(path, request.SerializeToString()) for path, request in requests]


def joined(path: str, body: bytes) -> bytes:
    """A call as one input: its number, then its body."""
    return bytes([PATHS.index(path)]) + body


def split(given: bytes) -> tuple[str, bytes]:
    return PATHS[given[0] % len(PATHS)] if given else PATHS[0], given[1:]


class Fuzzed:
    """A service over a small world of fakes, kept from one call to the next."""

    def __init__(self) -> None:
        world = make_world()
        compiled = {name: world.compile({name: content}) for name, content in configs().items()}
        live: dict[str, Scorer] = {
            name: world.scorer({name: configs()[name]})
            for name, result in compiled.items()
            if result.plan is not None
        }
        self.admission = Admission(1)
        service = ScoringService(
            PlanBook(live, compiled).get,
            limits=Limits(),
            admission=self.admission,
            today=lambda: date(2025, 11, 15),
        )
        self._models = world.models
        self._caller = Caller(service)
        self._loop = asyncio.new_event_loop()

    def status(self, path: str, body: bytes) -> StatusCode:
        code, details = StatusCode.OK, "answered"
        try:
            self._loop.run_until_complete(self._caller.begin(path, body, CallContext()))
        except Aborted as refused:
            code, details = refused.code, refused.details
        self._models.calls.clear()
        assert 0 < len(details) < _LONGEST_TEXT
        return code

    def check(self, path: str, body: bytes) -> None:
        """Whatever the bytes are, only their sender is at fault, and the next call is answered."""
        code = self.status(path, body)
        assert code in CALLERS_FAULT, code
        assert self.admission.under_way == 0

    def close(self) -> None:
        self._loop.close()
