"""How calls are treated, whatever they ask: admission, deadlines, threads, hostile bytes."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow.api.service import CallPolicy, ScoringService
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.plan.book import PlanBook
from inferflow.rpc.admission import Admission
from inferflow.rpc.turns import Turns
from inferflow.testing import World, model

from ...robustness.scenario import StartScenario
from .asking import LEGACY, PAIR, POINT, SLATE, add_feature, grouped, legacy, point
from .calling import Aborted, CallContext, Caller
from .conftest import MakeService
from .shop import INPUTS, config, make_world, only_boost


def test_a_call_whose_time_is_up_is_not_begun(
    call: Caller, world: World, scenario: StartScenario
) -> None:
    tried = scenario("I2", "a call whose time is up")
    before = len(world.models.calls)
    with pytest.raises(Aborted) as refused:
        call(POINT, point(), left_s=0.0)
    assert refused.value.code is StatusCode.DEADLINE_EXCEEDED
    tried.at_most("runs for it", len(world.models.calls) - before, 0)


@pytest.mark.parametrize(
    ("left_s", "budget_ms"), [(None, 400), (0.2, 200), (60.0, 900)], ids=["default", "own", "cap"]
)
def test_a_request_gets_what_is_left_of_its_callers_deadline(
    left_s: float | None, budget_ms: float
) -> None:
    given: list[float] = []

    class Watching:
        def __init__(self, scorer: Scorer) -> None:
            self.plan, self.is_local, self._scorer = scorer.plan, scorer.is_local, scorer

        def score(self, request: Any) -> Any:
            given.append(request.deadline_ms)
            return self._scorer.score(request)

    watched: Any = Watching(make_world().scorer({"ranker": config(inputs=INPUTS, answer=["hour"])}))
    service = ScoringService(
        lambda _: watched,
        limits=Limits(),
        admission=Admission(1),
        policy=CallPolicy(default_deadline_ms=400, max_deadline_ms=900),
    )
    Caller(service)(POINT, point(), left_s=left_s)
    assert budget_ms * 0.5 < given[0] <= budget_ms


def test_the_surplus_of_calls_is_refused_with_a_hint_when_to_come_back() -> None:
    release, inside = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        inside.set()
        assert release.wait(10)
        return x[:, 0]

    world = World(models={"slow": model(wait, inputs={"x": "FP32[N,1]"})})
    book = PlanBook({"slow": world.scorer({"slow": only_boost(model_name="slow")})})
    admission = Admission(1, retry_after_ms=70)
    # Everything is heavy here, so the first call waits in a thread while the second one comes.
    service = ScoringService(
        book.get, limits=Limits(), admission=admission, policy=CallPolicy(heavy_rows=0)
    )
    caller = Caller(service)
    request = messages.PointWiseRequest(model_config_id="slow")
    request.MergeFrom(point("slow"))
    del request.context_features[:]

    async def two_calls() -> tuple[bytes, Aborted]:
        body = request.SerializeToString()
        first = asyncio.ensure_future(caller.begin(POINT, body, CallContext()))
        await asyncio.to_thread(inside.wait, 10)
        with pytest.raises(Aborted) as refused:
            await caller.begin(POINT, body, CallContext())
        release.set()
        return await first, refused.value

    answered, refused = asyncio.run(two_calls())
    assert len(messages.PointWiseResponse.FromString(answered).target_scores) == 3
    assert refused.code is StatusCode.RESOURCE_EXHAUSTED
    assert refused.trailing.pop("x-request-id")
    assert refused.trailing == {"retry-after-ms": "70", "grpc-retry-pushback-ms": "70"}
    assert (admission.under_way, admission.refused) == (0, 1)


def test_reading_a_large_request_on_the_loop_counts_as_use_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted: list[float] = []
    monkeypatch.setattr(Turns, "note_work", lambda _, seconds: noted.append(seconds))
    world = World(models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})})
    book = PlanBook({"ranker": world.scorer({"ranker": only_boost()})})
    for heavy_bytes, times in ((1 << 20, 1), (0, 0)):  # read here, or in a thread
        policy = CallPolicy(heavy_bytes=heavy_bytes, heavy_rows=0)
        service = ScoringService(book.get, limits=Limits(), admission=Admission(1), policy=policy)
        noted.clear()
        Caller(service)(POINT, point())
        assert len(noted) == times


def test_a_call_that_is_given_up_leaves_its_place(scenario: StartScenario) -> None:
    tried = scenario("D9", "a call to a server is given up")
    world = World(
        models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})}, local=False
    )
    book = PlanBook({"ranker": world.scorer({"ranker": only_boost()})})
    admission, ended = Admission(1), []

    class Watching(Observer):
        def call_ended(self, method: str, status: int, duration_s: float) -> None:
            ended.append(status)

    service = ScoringService(book.get, limits=Limits(), admission=admission, observer=Watching())

    async def give_up() -> None:
        body = point().SerializeToString()
        call = asyncio.ensure_future(Caller(service).begin(POINT, body, CallContext()))
        await asyncio.sleep(0)
        assert admission.under_way == 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(give_up())
    tried.at_most("calls that count as under way", admission.under_way, 0)
    assert ended == [StatusCode.CANCELLED.value[0]]


@pytest.mark.parametrize("policy", [CallPolicy(heavy_rows=0), CallPolicy(heavy_bytes=0)])
def test_a_thread_gives_the_same_answer_and_the_same_refusals(
    make_service: MakeService, call: Caller, policy: CallPolicy
) -> None:
    threaded = Caller(make_service(policy=policy))
    assert threaded(POINT, point()) == call(POINT, point())
    with pytest.raises(Aborted, match="INVALID_ARGUMENT"):
        threaded(POINT, point(boosts=(b"1", b"2", b"3")))
    with pytest.raises(Aborted, match="INVALID_ARGUMENT"):
        threaded(POINT, point("numbers", ids=("1", "1" * 600, "2")))


def test_plans_that_wait_are_awaited() -> None:
    world = World(
        models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})}, local=False
    )
    book = PlanBook({"ranker": world.scorer({"ranker": only_boost()})})
    for heavy_rows in (0, 1000):
        service = ScoringService(
            book.get,
            limits=Limits(),
            admission=Admission(9),
            policy=CallPolicy(heavy_rows=heavy_rows),
        )
        answer = messages.PointWiseResponse.FromString(Caller(service)(POINT, point()))
        assert len(answer.target_scores) == 3


def test_a_bug_is_an_internal_error_that_tells_nothing_of_the_request(
    caplog: pytest.LogCaptureFixture, scenario: StartScenario
) -> None:
    tried = scenario("A9", "a bug in a gRPC handler")

    def find(_: str) -> Scorer:
        raise ZeroDivisionError("secret")

    service = ScoringService(find, limits=Limits(), admission=Admission(1))
    with pytest.raises(Aborted) as refused:
        Caller(service)(POINT, point())
    assert refused.value.code is StatusCode.INTERNAL
    told = refused.value.details
    tried.holds("nothing of its inside is told", told, "secret" not in told)
    assert [record.message for record in caplog.records] == ["call_failed"]


def test_an_observer_is_told_how_each_call_ended(make_service: MakeService) -> None:
    ended: list[tuple[str, int]] = []

    class Watching(Observer):
        def call_ended(self, method: str, status: int, duration_s: float) -> None:
            ended.append((method, status))

    caller = Caller(make_service(observer=Watching()))
    caller(POINT, point())
    with pytest.raises(Aborted):
        caller(LEGACY, legacy("nobody", item=["1"]))
    assert ended == [
        (POINT, StatusCode.OK.value[0]),
        (LEGACY, StatusCode.NOT_FOUND.value[0]),
    ]


# --- hostile bytes --------------------------------------------------------------------------

OUR_FAULT = {StatusCode.INTERNAL, StatusCode.UNKNOWN}

VALID = {
    POINT: [point(), point("either"), point("as_text"), point("shown"), point("numbers")],
    PAIR: [grouped("pairs", [[0, 1], [3, 2]], [1.0, 2.0])],
    SLATE: [grouped("slates", [[0, 1, 2], [3, 2, 2]], [1.0, 2.0])],
    LEGACY: [
        add_feature(
            legacy("ranker", item_id=["1", "2"], user=["7"], hour=["20"]), "item_id", "boost", "1"
        )
    ],
}
SEEDS = [(path, each.SerializeToString()) for path, all_ in VALID.items() for each in all_]


def answered_or_refused(
    call: Caller, path: str, body: bytes, scenario: StartScenario, how: str
) -> None:
    code = StatusCode.OK
    try:
        call(path, body)
    except Aborted as refused:
        code = refused.code
    tried = scenario("F1", f"{how} to every call of an orchestrator")
    tried.none("answer that is our fault", [code] if code in OUR_FAULT else [])


@pytest.mark.scenario("F1")
@given(path=st.sampled_from(sorted(VALID)), body=st.binary(max_size=200))
def test_random_bytes_are_never_our_fault(
    call: Caller, scenario: StartScenario, path: str, body: bytes
) -> None:
    answered_or_refused(call, path, body, scenario, "random bytes")


@st.composite
def mutations(draw: st.DrawFn) -> tuple[str, bytes]:
    """A valid request with bytes changed, cut out, repeated or put in; sent to any call."""
    path, seed = draw(st.sampled_from(SEEDS))
    body = bytearray(seed)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body)))
        kind = draw(st.sampled_from(["set", "cut", "put", "repeat"]))
        if kind == "set" and at < len(body):
            body[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del body[at : at + draw(st.integers(1, 8))]
        elif kind == "put":
            body[at:at] = draw(st.binary(max_size=6))
        else:
            body[at:at] = body[at : at + draw(st.integers(1, 40))]
    other = draw(st.sampled_from([*([path] * 3), *VALID]))
    return other, bytes(body)


@pytest.mark.scenario("F1")
@settings(max_examples=300, deadline=None)
@given(mutated=mutations())
def test_mutated_requests_are_never_our_fault(
    call: Caller, scenario: StartScenario, mutated: tuple[str, bytes]
) -> None:
    answered_or_refused(call, *mutated, scenario, "changed requests")


@st.composite
def strange_requests(draw: st.DrawFn) -> Any:
    """Messages that parse, with fields no sane client would send."""
    names = st.sampled_from(
        ["user_id", "user", "hour", "boost", "item_id", "item:facts:price", "", "é"]
    )
    values = st.binary(max_size=9) | st.sampled_from([b"7", b"\0\0\0\0", b"1:2"])
    entry = {
        "name": names,
        "data_type": st.integers(-1, 32),
        "vector_dim": st.sampled_from([0, 0, 0, 1, 2, -1, 2**31 - 1]),
    }
    schema = draw(st.lists(st.builds(messages.FeatureSchema, **entry), max_size=3))
    context = draw(st.lists(st.builds(messages.ContextFeature, value=values, **entry), max_size=4))
    rows = draw(st.lists(st.tuples(st.text(max_size=3), st.lists(values, max_size=3)), max_size=4))
    config_id = draw(st.sampled_from(["ranker", "as_text", "either", "shown", "numbers", "broken"]))
    request = messages.PointWiseRequest(
        model_config_id=config_id, target_input_schema=schema, context_features=context
    )
    if draw(st.booleans()):
        request.MergeFrom(point(config_id))
    for each, given_values in rows:
        request.targets.add(id=each, feature_values=given_values)
    return request


@pytest.mark.scenario("F1")
@settings(max_examples=400, deadline=None)
@given(strange=strange_requests())
def test_strange_requests_are_never_our_fault(
    call: Caller, scenario: StartScenario, strange: Any
) -> None:
    answered_or_refused(call, POINT, strange.SerializeToString(), scenario, "strange requests")
