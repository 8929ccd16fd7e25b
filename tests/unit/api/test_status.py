"""What errors are called on the wire."""

from __future__ import annotations

from grpc import StatusCode

from inferflow.api.status import BY_FAULT, LONGEST, status_of, text_of
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    Fault,
    InferflowError,
    InvalidRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    PlanRejected,
    RateLimited,
    RegistryConflict,
    StepFailed,
    Unauthenticated,
)


def test_every_fault_has_a_status() -> None:
    assert set(BY_FAULT) == set(Fault)


def test_errors_are_called_by_who_has_to_act() -> None:
    told = {
        InvalidRequest("x", "wrong"): (StatusCode.INVALID_ARGUMENT, 400),
        NotFound("model config", "x"): (StatusCode.NOT_FOUND, 404),
        Overloaded(3, retry_after_ms=9): (StatusCode.RESOURCE_EXHAUSTED, 429),
        DeadlinePassed("it", 5): (StatusCode.DEADLINE_EXCEEDED, 504),
        EngineFault("oh"): (StatusCode.INTERNAL, 500),
        StepFailed("s", "model", NotFound("model", "m"), 1.0): (StatusCode.NOT_FOUND, 404),
        PlanRejected("x", ["p"]): (StatusCode.FAILED_PRECONDITION, 409),
        Unauthenticated("who?"): (StatusCode.UNAUTHENTICATED, 401),
        PermissionDenied("no"): (StatusCode.PERMISSION_DENIED, 403),
        RateLimited("k", retry_after_ms=9): (StatusCode.RESOURCE_EXHAUSTED, 429),
        RegistryConflict("moved"): (StatusCode.FAILED_PRECONDITION, 409),
    }
    assert {e: (status_of(e).grpc, status_of(e).http) for e in told} == told


def test_callers_are_not_told_the_inside_of_a_config() -> None:
    text = text_of(PlanRejected("x", ["secret_column is not there"]))
    assert "secret_column" not in text
    assert "'x'" in text
    assert "1 problem" in text


def test_a_long_text_is_cut() -> None:
    assert len(text_of(InferflowError("a" * 10_000))) == LONGEST
