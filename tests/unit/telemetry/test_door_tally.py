"""Whom a role turned away and how long its certificates last, on its metrics page."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inferflow.access.refusals import Refusals
from inferflow.errors import (
    InferflowError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    RateLimited,
    Unauthenticated,
    Unreachable,
)
from inferflow.telemetry.door_table import DOOR_METRICS
from inferflow.telemetry.door_tally import DoorTally
from inferflow.telemetry.gateway_tally import GatewayTally
from inferflow.telemetry.merging import merge

RATE = RateLimited("key 'k'", retry_after_ms=5)


def page(role: str, refusals: Refusals, **seconds_left: float) -> bytes:
    tally = GatewayTally(with_process=False)
    tally.show(DoorTally(role, refusals.counts, lambda: seconds_left))
    return tally.render()


def values(text: bytes) -> dict[tuple[str, str], float]:
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    shown = {metric.name.removesuffix("_total"): metric.labels[1] for metric in DOOR_METRICS}
    return {
        (sample.labels[label], sample.labels["role"]): sample.value
        for name, label in shown.items()
        for sample in families[name].samples
        if "created" not in sample.name
    }


def test_every_reason_is_there_from_the_start() -> None:
    assert values(page("gateway", Refusals())) == {
        ("unauthenticated", "gateway"): 0,
        ("permission", "gateway"): 0,
        ("rate", "gateway"): 0,
        ("unchecked", "gateway"): 0,
    }


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unauthenticated("who?"), "unauthenticated"),
        (PermissionDenied("no"), "permission"),
        (RATE, "rate"),
    ],
)
def test_whoever_is_turned_away_is_counted_by_reason(error: InferflowError, reason: str) -> None:
    refusals = Refusals()
    refusals.note(error)
    refusals.note_unknown(error)
    assert {name: n for name, n in refusals.counts().items() if n} == {reason: 2}


def test_other_errors_turn_nobody_away_unless_they_keep_a_caller_from_being_known() -> None:
    refusals = Refusals()
    refusals.note(NotFound("model config", "nobody"))
    assert not any(refusals.counts().values())
    refusals.note_unknown(Unreachable("manager:8083", 1, "is away"))
    refusals.note_unknown(InvalidRequest("auth-token", "this header is missing"))
    assert (refusals.counts()["unchecked"], refusals.counts()["unauthenticated"]) == (1, 1)


def test_of_several_processes_refusals_add_up_and_the_first_certificate_to_expire_counts() -> None:
    one, other = Refusals(), Refusals()
    one.note(RATE)
    other.note(RATE)
    found = values(merge([page("serve", one, cert=50.0), page("serve", other, cert=40.0)]))
    assert found["rate", "serve"] == 2
    assert found["cert", "serve"] == 40.0
