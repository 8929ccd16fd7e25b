"""What a status becomes: an error of ours that says what the server said."""

from __future__ import annotations

from typing import Any

import pytest
from grpc import StatusCode

from inferflow.api.status import BY_FAULT, CONFIG_REJECTED
from inferflow.client.failures import Refusal, error_of, no_place_ms
from inferflow.errors import (
    DeadlinePassed,
    Fault,
    InferflowError,
    InvalidRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    PlanRejected,
    RemoteFailed,
    Unauthenticated,
    Unreachable,
)


def refused(code: StatusCode, details: str = "so it is", **trailing: str) -> InferflowError:
    headers = {name.replace("_", "-"): value for name, value in trailing.items()}
    return error_of(Refusal(code, details, headers, "ranker", "host:1", 250, 3))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (StatusCode.INVALID_ARGUMENT, InvalidRequest),
        (StatusCode.NOT_FOUND, NotFound),
        (StatusCode.FAILED_PRECONDITION, PlanRejected),
        (StatusCode.DEADLINE_EXCEEDED, DeadlinePassed),
        (StatusCode.UNAUTHENTICATED, Unauthenticated),
        (StatusCode.PERMISSION_DENIED, PermissionDenied),
    ],
)
def test_the_servers_words_are_kept(code: StatusCode, kind: type[InferflowError]) -> None:
    error = refused(code)
    assert type(error) is kind
    assert str(error) == "so it is"


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.BUSY])
def test_who_has_to_act_is_the_same_on_both_sides(fault: Fault) -> None:
    assert refused(BY_FAULT[fault].grpc).fault is fault


def test_a_config_that_is_not_live_is_a_rejected_plan() -> None:
    error: Any = refused(CONFIG_REJECTED.grpc)
    assert error.config_id == "ranker"


def test_the_place_in_the_request_is_a_fact() -> None:
    error: Any = refused(StatusCode.INVALID_ARGUMENT, "targets[3].price: 2 bytes (fix it)")
    assert (error.field, error.what) == ("targets[3].price", "2 bytes (fix it)")
    error = refused(StatusCode.INVALID_ARGUMENT, "step 'x' failed after 1 ms: zero")
    assert (error.field, error.what) == ("request", "step 'x' failed after 1 ms: zero")


def test_a_full_server_says_when_to_come_back() -> None:
    error: Any = refused(StatusCode.RESOURCE_EXHAUSTED, "all taken", retry_after_ms="120")
    assert isinstance(error, Overloaded)
    assert (error.retry_after_ms, error.limit, error.fault) == (120, None, Fault.BUSY)


def test_too_large_a_message_is_the_callers_to_mend() -> None:
    assert isinstance(refused(StatusCode.RESOURCE_EXHAUSTED, "too large"), InvalidRequest)


@pytest.mark.parametrize("details", ["Deadline Exceeded", "Stream removed (Deadline Exceeded)"])
def test_a_timeout_nobody_reported_names_budget_and_address(details: str) -> None:
    error = refused(StatusCode.DEADLINE_EXCEEDED, details)
    assert str(error) == "'ranker' at host:1 did not finish within 250 ms"


@pytest.mark.parametrize("code", [StatusCode.UNAVAILABLE, StatusCode.CANCELLED])
def test_a_server_that_is_away_is_named_with_the_attempts_made(code: StatusCode) -> None:
    error = refused(code, "failed to connect; last error: refused")
    assert isinstance(error, Unreachable)
    assert str(error) == "no server answered at host:1, tried 3 times: refused"


@pytest.mark.parametrize("code", [StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.DATA_LOSS])
def test_anything_else_is_the_servers_failure(code: StatusCode) -> None:
    error = refused(code)
    assert isinstance(error, RemoteFailed)
    assert error.status == code.name


def test_a_server_at_its_last_limit_is_overloaded_though_it_gives_no_hint() -> None:
    error: Any = refused(StatusCode.RESOURCE_EXHAUSTED, "Concurrent RPC limit exceeded!")
    assert isinstance(error, Overloaded)
    assert error.retry_after_ms == 100
    assert not error.is_local


HINT = {"retry-after-ms": "70"}


@pytest.mark.parametrize(
    ("code", "details", "trailing", "wait_ms"),
    [
        (StatusCode.RESOURCE_EXHAUSTED, "", HINT, 70),
        (StatusCode.RESOURCE_EXHAUSTED, "Concurrent RPC limit exceeded!", {}, 100),
        (StatusCode.CANCELLED, "CANCELLED", {}, 100),
        (StatusCode.RESOURCE_EXHAUSTED, "the message is too large", {}, None),
        (StatusCode.RESOURCE_EXHAUSTED, "", {**HINT, "x-inferflow-rate-limited": "1"}, None),
        (StatusCode.UNAVAILABLE, "", HINT, None),
        (StatusCode.DEADLINE_EXCEEDED, "", {}, None),
    ],
)
def test_only_a_refusal_for_load_says_that_there_was_no_place(
    code: StatusCode, details: str, trailing: dict[str, str], wait_ms: int | None
) -> None:
    assert no_place_ms(Refusal(code, details, trailing, "ranker", "host:1", 250, 3)) == wait_ms
