"""A live message tells a caller no more than the routes would."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.access import ModelPatterns, Permission
from inferflow.api.gateway.management.seeing import may_know, seen_by
from inferflow.api.gateway.ports import ANYBODY, Caller

VIEWER = Caller("k1", "viewer", frozenset({Permission.VIEW}))
NARROW = Caller("k2", "n", frozenset({Permission.VIEW}), models=ModelPatterns(("rank*",)))
METRICS: dict[str, Any] = {
    "type": "metrics",
    "at_ms": 1,
    "configs": {"ranker": {}, "page": {}},
    "workers": [{"worker_id": "w1"}],
}


def event(kind: str, what: str = "ranker") -> dict[str, Any]:
    return {"type": "event", "at_ms": 1, "kind": kind, "what": what, "detail": ""}


def test_workers_are_for_administrators() -> None:
    assert seen_by(ANYBODY, METRICS) == METRICS
    assert "workers" not in seen_by(VIEWER, METRICS)
    assert "workers" in METRICS


def test_a_key_for_some_configs_sees_those() -> None:
    assert set(seen_by(NARROW, METRICS)["configs"]) == {"ranker"}
    assert set(seen_by(VIEWER, METRICS)["configs"]) == {"ranker", "page"}


@pytest.mark.parametrize("kind", ["worker_dead", "model_promoted", "key_created", "brand_new"])
def test_what_is_not_about_configs_is_for_administrators(kind: str) -> None:
    assert may_know(ANYBODY, event(kind))
    assert not may_know(VIEWER, event(kind))


def test_an_event_of_a_config_is_for_those_it_is_open_to() -> None:
    assert may_know(NARROW, event("config_live"))
    assert not may_know(NARROW, event("config_live", "page"))


def test_history_is_seen_as_its_parts_are() -> None:
    history = {
        "type": "history",
        "metrics": [METRICS],
        "events": [event("key_created"), event("config_live")],
    }
    seen = seen_by(VIEWER, history)
    assert seen["metrics"] == [seen_by(VIEWER, METRICS)]
    assert [each["kind"] for each in seen["events"]] == ["config_live"]
