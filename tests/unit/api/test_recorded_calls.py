"""Calls that ask to be recorded, on any of the four methods."""

from __future__ import annotations

from typing import Any

import pytest
from grpc import StatusCode

from inferflow.api.insight import insight
from inferflow.api.service import CallPolicy
from inferflow.engine.recording import Recording
from inferflow.scores import Scores
from inferflow.telemetry.calls import Call

from .asking import LEGACY, PAIR, POINT, SLATE, add_feature, grouped, legacy, point
from .calling import Aborted, Caller
from .conftest import MakeService

ASKS = (("x-inferflow-explain", "1"),)
ELSEWHERE = "ipv4:10.0.0.7:5000"


class Kept:
    def __init__(self) -> None:
        self.recorded: list[tuple[Call, Recording, Scores | None, str]] = []

    def keep(self, call: Call, recording: Recording, scores: Scores | None, failure: str) -> str:
        self.recorded.append((call, recording, scores, failure))
        return f"abcd-{len(self.recorded)}"


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def caller(make_service: MakeService, kept: Kept) -> Caller:
    return Caller(make_service(recorder=kept, why_not=insight("loopback")))


REQUESTS = {
    POINT: point(),
    PAIR: grouped("pairs", [[0, 1]], [1.0]),
    SLATE: grouped("slates", [[0, 1, 2]], [1.0]),
}


@pytest.mark.parametrize("path", [POINT, PAIR, SLATE])
def test_a_call_that_asks_is_recorded_and_answered_as_ever(
    caller: Caller, kept: Kept, path: str
) -> None:
    answer = caller(path, REQUESTS[path])
    assert kept.recorded == []
    assert "x-inferflow-recording" not in caller.context.trailing
    assert caller(path, REQUESTS[path], metadata=ASKS) == answer
    assert caller.context.trailing["x-inferflow-recording"] == "abcd-1"
    [(call, recording, scores, failure)] = kept.recorded
    assert (call.method, failure) == (path, "")
    assert scores is not None
    assert list(recording.ids) == list(scores.ids)
    assert recording.matrix is not None


def test_the_older_call_is_recorded_too(caller: Caller, kept: Kept) -> None:
    request = legacy(user=["7"], item=["1", "2"])
    add_feature(request, "item", "boost", "0.5", "1")
    add_feature(request, "user", "hour", "20")
    assert caller(LEGACY, request, metadata=ASKS) == caller(LEGACY, request)
    assert kept.recorded[0][1].ids == ("1", "2")


@pytest.mark.parametrize("value", ["0", "false", "OFF", ""])
def test_asking_with_no_is_not_asking(caller: Caller, kept: Kept, value: str) -> None:
    caller(POINT, point(), metadata=(("x-inferflow-explain", value),))
    assert kept.recorded == []
    assert "x-inferflow-explain" not in caller.context.trailing


def test_callers_from_elsewhere_are_answered_and_told_why_nothing_is_recorded(
    caller: Caller, kept: Kept
) -> None:
    caller(POINT, point(), metadata=ASKS, peer=ELSEWHERE)
    assert kept.recorded == []
    assert "own machine" in caller.context.trailing["x-inferflow-explain"]
    assert "x-inferflow-recording" not in caller.context.trailing


def test_a_server_that_keeps_nothing_says_so(call: Caller) -> None:
    call(POINT, point(), metadata=ASKS)
    assert "no recordings" in call.context.trailing["x-inferflow-explain"]


def test_a_large_request_is_recorded_in_a_thread(make_service: MakeService, kept: Kept) -> None:
    policy = CallPolicy(heavy_rows=0, heavy_bytes=1)
    caller = Caller(make_service(recorder=kept, policy=policy))
    caller(POINT, point(), metadata=ASKS)
    assert len(kept.recorded) == 1


def test_a_request_that_fails_is_kept_with_its_reason(make_service: Any, kept: Kept) -> None:
    caller = Caller(make_service(recorder=kept))
    request = point()
    request.target_input_schema[0].name = "bost"
    with pytest.raises(Aborted) as refused:
        caller(POINT, request, metadata=ASKS)
    assert refused.value.code is StatusCode.INVALID_ARGUMENT
    assert refused.value.trailing["x-inferflow-recording"] == "abcd-1"
    [(_, _, scores, failure)] = kept.recorded
    assert scores is None
    assert failure == refused.value.details
