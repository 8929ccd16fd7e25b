"""The few words errors are counted by."""

from __future__ import annotations

import pytest

from inferflow import errors
from inferflow.telemetry.errortypes import ERROR_TYPES, error_type, upstream_error_type


@pytest.mark.parametrize(
    ("failure", "word"),
    [
        ("DeadlinePassed", "deadline"),
        ("StoreFailed", "store"),
        ("ModelFailed", "model"),
        ("ComputeFailed", "compute"),
        ("CastFailed", "invalid"),
        ("NotFound", "missing"),
        ("CancelledError", "cancelled"),
        ("EngineFault", "unexpected"),
        ("ZeroDivisionError", "unexpected"),
        ("", "unexpected"),
    ],
)
def test_a_class_is_counted_by_what_it_is(failure, word):
    assert error_type(failure) == word
    assert word in ERROR_TYPES


def test_an_error_added_later_is_counted_as_its_parent():
    class StoreAway(errors.StoreFailed):
        pass

    assert error_type("StoreAway") == "store"


@pytest.mark.parametrize(
    ("kind", "failure", "word"),
    [
        ("feature", "StoreFailed", "featurestore-api-error"),
        ("feature", "DeadlinePassed", "featurestore-api-request-timeout"),
        ("feature", "CancelledError", "featurestore-api-request-cancelled"),
        ("feature", "KeyError", "feature-store-component-panic"),
        ("model", "ModelFailed", "predator-api-error"),
        ("model", "DeadlinePassed", "predator-api-error"),
        ("model", "NotFound", "predator-client-not-found"),
        ("compute", "ComputeFailed", "numerix-api-error"),
        ("compute", "CastFailed", "invalid-component-config"),
        ("init", "InvalidRequest", "invalid-component-config"),
    ],
)
def test_dashboards_find_the_error_types_they_know(kind, failure, word):
    assert upstream_error_type(kind, failure) == word
