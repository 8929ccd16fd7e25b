"""Every call has an id: in its answer, in its refusal, and in what is logged meanwhile."""

from __future__ import annotations

import re

import pytest

from inferflow.api.service import CallPolicy, ScoringService
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer, RequestStats
from inferflow.plan.book import PlanBook
from inferflow.rpc.admission import Admission
from inferflow.telemetry.calls import current_call
from inferflow.testing import World, model

from .asking import POINT, point
from .calling import Aborted, Caller
from .shop import only_boost


def test_an_answer_carries_the_callers_own_id(call: Caller) -> None:
    call(POINT, point(), metadata=(("x-request-id", "order-7/try#2"),))
    assert call.context.trailing["x-request-id"] == "order-7/try#2"


@pytest.mark.parametrize("given", ["", "two words", "line\nbreak", "ä", "x" * 129])
def test_an_id_that_could_spoil_a_log_or_a_header_is_replaced(call: Caller, given: str) -> None:
    call(POINT, point(), metadata=(("x-request-id", given),))
    assert re.fullmatch("[0-9a-f]{16}", call.context.trailing["x-request-id"])


def test_calls_that_bring_no_id_get_different_ones(call: Caller) -> None:
    seen = set()
    for _ in range(3):
        call(POINT, point())
        seen.add(call.context.trailing["x-request-id"])
    assert len(seen) == 3


def test_a_refusal_carries_the_id_and_as_much_as_is_known(call: Caller) -> None:
    with pytest.raises(Aborted) as refused:
        call(POINT, point("nothing"), metadata=(("x-request-id", "r1"),))
    assert refused.value.trailing == {"x-request-id": "r1"}
    with pytest.raises(Aborted) as refused:
        call(POINT, point(ids=()), metadata=(("x-request-id", "r2"),))
    assert refused.value.trailing["x-request-id"] == "r2"
    assert refused.value.trailing["x-inferflow-config-version"]


def seen_by(observer: Observer, policy: CallPolicy | None = None) -> Caller:
    """A caller of a small world in which this observer watches calls and requests."""
    adder = model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})
    world = World(models={"adder": adder}, observer=observer)
    book = PlanBook({"ranker": world.scorer({"ranker": only_boost()})})
    return Caller(
        ScoringService(
            book.get, limits=Limits(), admission=Admission(9), policy=policy, observer=observer
        )
    )


@pytest.mark.parametrize("heavy_rows", [0, 1000], ids=["in a thread", "on the loop"])
def test_whoever_watches_knows_which_call_it_is(heavy_rows: int) -> None:
    seen: list[tuple[str, ...]] = []

    class Watching(Observer):
        def request_ended(self, request: RequestStats) -> None:
            call = current_call()
            assert call is not None
            seen.append(("request", call.request_id))

        def call_ended(self, method: str, status: int, duration_s: float) -> None:
            call = current_call()
            assert call is not None
            seen.append((call.request_id, call.config_id, call.tracking_id, call.error))

    caller = seen_by(Watching(), CallPolicy(heavy_rows=heavy_rows, heavy_bytes=heavy_rows))
    caller(POINT, point(tracking_id="t1"), metadata=(("x-request-id", "r1"),))
    with pytest.raises(Aborted):
        caller(POINT, point("nothing"), metadata=(("x-request-id", "r2"),))
    assert seen == [
        ("request", "r1"),
        ("r1", "ranker", "t1", ""),
        ("r2", "nothing", "", "NotFound"),
    ]
    assert current_call() is None


def test_a_callers_own_words_are_kept_only_so_far() -> None:
    seen: list[int] = []

    class Watching(Observer):
        def call_ended(self, method: str, status: int, duration_s: float) -> None:
            call = current_call()
            assert call is not None
            seen.append(len(call.tracking_id))

    seen_by(Watching())(POINT, point(tracking_id="t" * 100_000))
    assert seen == [200]
