"""Scores over HTTP."""

from __future__ import annotations

import pytest

from inferflow.api.gateway.ports import Bounds
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    NotFound,
    Overloaded,
    PlanRejected,
    RemoteFailed,
    Unreachable,
)

from ....robustness.scenario import StartScenario
from .behind import KnownScoring, asking, keys, scores_of

REQUEST = {"tracking_id": "t-1", "entities": {"user": "7", "product": ["1", "2", "3"]}}


def test_targets_come_back_in_the_order_of_the_request_each_with_its_rank() -> None:
    with asking(scoring=KnownScoring()) as client:
        answer = client.post("/v1/score/ranker", json=REQUEST)
    assert answer.status_code == 200
    assert answer.json() == {
        "model_config_id": "ranker",
        "arm": None,
        "tracking_id": "t-1",
        "config_version": "v1",
        "columns": ["title", "rank:score"],
        "request_error": None,
        "recording": None,
        "targets": [
            {
                "id": each,
                "rank": rank,
                "scores": {"title": f"product {each}", "rank:score": score},
                "error": None,
            }
            for each, rank, score in (("1", 3, 0.0), ("2", 2, 1.0), ("3", 1, 2.0))
        ],
    }


def test_numbers_that_json_cannot_hold_are_texts() -> None:
    special = [float("nan"), float("inf"), -float("inf")]
    scoring = KnownScoring(lambda request: scores_of(request, score=special))
    with asking(scoring=scoring) as client:
        targets = client.post("/v1/score/ranker", json=REQUEST).json()["targets"]
    assert [each["scores"]["score"] for each in targets] == ["NaN", "+Inf", "-Inf"]


def test_what_came_beside_a_request_goes_on_beside_the_call() -> None:
    scoring, who = KnownScoring(), keys(shop="inference")
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    headers = {
        **who["shop"],
        "x-request-id": "mine",
        "traceparent": trace,
        "tracestate": "vendor=1",
        "x-deadline-ms": "250",
    }
    with asking(scoring=scoring, gate=who.gate) as client:
        answer = client.post("/v1/score/ranker", json=REQUEST, headers=headers)
    request, beside = scoring.asked[0]
    assert answer.headers["x-request-id"] == beside.request_id == "mine"
    assert beside.trace == (("traceparent", trace), ("tracestate", "vendor=1"))
    assert beside.deadline_ms == 250
    assert beside.credential == who.texts["shop"]
    assert request.deadline_ms == 250


@pytest.mark.parametrize(
    ("path", "headers", "wanted"),
    [
        ("", {}, 1_000),
        ("?timeout=300", {}, 300),
        ("?timeout=300", {"x-deadline-ms": "20"}, 20),
        ("?timeout=999999", {}, 5_000),
    ],
)
def test_a_deadline_is_the_callers_within_limits(
    path: str, headers: dict[str, str], wanted: float
) -> None:
    scoring = KnownScoring()
    with asking(scoring=scoring, bounds=Bounds(max_deadline_ms=5_000)) as client:
        client.post(f"/v1/score/ranker{path}", json=REQUEST, headers=headers)
    assert scoring.asked[0][1].deadline_ms == wanted


@pytest.mark.parametrize("given", [0, -1, -0.5])
def test_a_deadline_that_has_passed_before_it_begins_is_refused(given: float) -> None:
    scoring = KnownScoring()
    with asking(scoring=scoring) as client:
        refused = client.post("/v1/score/ranker", json={**REQUEST, "deadline_ms": given})
    assert (refused.status_code, refused.json()["field"]) == (400, "deadline_ms")
    assert scoring.asked == []


def test_a_deadline_in_the_request_itself_is_within_limits_too() -> None:
    scoring = KnownScoring()
    with asking(scoring=scoring, bounds=Bounds(max_deadline_ms=5_000)) as client:
        for given in (300, 9_000):
            client.post("/v1/score/ranker", json={**REQUEST, "deadline_ms": given})
    assert [request.deadline_ms for request, _ in scoring.asked] == [300, 5_000]


@pytest.mark.parametrize("given", ["0", "-1", "soon", "nan"])
def test_a_deadline_that_is_none_is_refused_by_name(given: str) -> None:
    with asking(scoring=KnownScoring()) as client:
        refused = client.post("/v1/score/r", json=REQUEST, headers={"x-deadline-ms": given})
    assert (refused.status_code, refused.json()["field"]) == (400, "x-deadline-ms")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("ranker", b"{", "body"),
        ("ranker", b"[" * 5_000, "body"),
        ("ranker", b"[]", "request"),
        ("ranker", b'{"entitiez": {}}', "entitiez"),
        ("ranker", b'{"model_config_id": "other", "entities": {}}', "model_config_id"),
        ("ranker", b'{"entities": {"product": ["1"]}, "pairs": [[0, 0]]}', "pairs"),
        ("ranker/pairs", b'{"entities": {"product": ["1"]}}', "pairs"),
        ("ranker/slates", b'{"entities": {"product": ["1"]}, "pairs": [[0, 0]]}', "pairs"),
    ],
)
def test_a_wrong_request_is_refused_with_its_field(path: str, body: bytes, field: str) -> None:
    with asking(scoring=KnownScoring()) as client:
        refused = client.post(f"/v1/score/{path}", content=body)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["field"] == field
    assert refused.json()["request_id"] == refused.headers["x-request-id"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("model config", "ranker"), 404),
        (PlanRejected("ranker", ()), 409),
        (Overloaded(8, retry_after_ms=1_200), 429),
        (RemoteFailed("INTERNAL", "step failed"), 502),
        (Unreachable("10.0.0.7:50051", 3, "refused"), 503),
        (DeadlinePassed("'ranker' at 10.0.0.7:50051", 200), 504),
    ],
)
def test_what_the_orchestrator_says_is_told_by_its_status(
    error: InferflowError, status: int
) -> None:
    def fail(_: object) -> None:
        raise error

    with asking(scoring=KnownScoring(fail)) as client:  # type: ignore[arg-type]
        refused = client.post("/v1/score/ranker", json=REQUEST)
    assert refused.status_code == refused.json()["status"] == status
    assert "10.0.0.7" not in refused.text
    assert ("retry-after" in refused.headers) is (status == 429)


def test_a_mistake_of_ours_is_told_without_its_inside(scenario: StartScenario) -> None:
    tried = scenario("A9", "a bug in a handler of the gateway")

    def fail(_: object) -> None:
        raise ZeroDivisionError("/secret/path")

    with asking(scoring=KnownScoring(fail)) as client:  # type: ignore[arg-type]
        failed = client.post("/v1/score/ranker", json=REQUEST)
    assert failed.status_code == 500
    inside = [word for word in ("secret", "Traceback") if word in failed.text]
    tried.none("word of its inside is told", inside)
    tried.holds("an id is", failed.json()["request_id"], bool(failed.json()["request_id"]))


def test_explaining_takes_the_permission_to_look_inside() -> None:
    scoring, who = KnownScoring(), keys(shop="inference", analyst="inference view")
    with asking(scoring=scoring, gate=who.gate) as client:
        path = "/v1/score/ranker?explain=true"
        refused = client.post(path, json=REQUEST, headers=who["shop"])
        assert (refused.status_code, len(scoring.asked)) == (403, 0)
        assert client.post(path, json=REQUEST, headers=who["analyst"]).status_code == 200
    assert scoring.asked[0][0].explain


def test_a_gateway_without_an_orchestrator_says_so() -> None:
    with asking() as client:
        refused = client.post("/v1/score/ranker", json=REQUEST)
        assert client.get("/api/v1/me").json()["parts"]["scoring"] is False
    assert refused.status_code == 404
    assert "scoring" in refused.json()["detail"]


def test_it_is_ready_while_its_orchestrator_is() -> None:
    scoring = KnownScoring()
    with asking(scoring=scoring) as client:
        assert client.get("/health/ready").status_code == 200
        scoring.ready = False
        assert client.get("/health/ready").status_code == 503
        assert client.get("/health/live").text == "true"
