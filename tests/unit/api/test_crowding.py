"""Requests with too many entries are refused before a message is made of them."""

from __future__ import annotations

from contextlib import suppress
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import coarse, messages
from inferflow.api import crowding
from inferflow.api.crowding import LARGE_BYTES, check_crowding
from inferflow.engine.limits import Limits
from inferflow.errors import InvalidRequest

LIMITS = Limits(targets=10, pairs=30, slates=5)
PADDING = "x" * LARGE_BYTES


def crowded(body: bytes, message: object = coarse.PairWiseRequest) -> str:
    with pytest.raises(InvalidRequest) as refused:
        check_crowding(body, message, LIMITS)
    return str(refused.value)


def test_a_large_request_with_more_targets_than_allowed_is_refused_with_the_limit() -> None:
    body = coarse.PairWiseRequest(tracking_id=PADDING, targets=[b""] * 11).SerializeToString()
    assert "targets: there are more than the limit max_targets=10" in crowded(body)


def test_one_that_has_as_many_as_allowed_is_not() -> None:
    request = coarse.PairWiseRequest(
        tracking_id=PADDING, targets=[b"\n\x011"] * 10, pairs=[{}] * 30
    )
    check_crowding(request.SerializeToString(), coarse.PairWiseRequest, LIMITS)


def test_fields_without_a_limit_of_their_own_have_the_largest() -> None:
    request = messages.PairWiseRequest(tracking_id=PADDING)
    request.pairs.add(feature_values=[b""] * 31)
    told = crowded(request.SerializeToString(), messages.PairWiseRequest)
    assert "pairs.feature_values: there are more than any limit" in told


def test_ids_inside_of_an_entity_are_counted_too() -> None:
    request = messages.InferflowRequest(tracking_id=PADDING)
    request.entities.add(ids=[""] * 11)
    told = crowded(request.SerializeToString(), messages.InferflowRequest)
    assert "entities.ids: there are more than the limit max_targets=10" in told


def test_a_small_request_is_not_looked_at() -> None:
    body = coarse.PairWiseRequest(targets=[b""] * 11).SerializeToString()
    check_crowding(body, coarse.PairWiseRequest, LIMITS)


def test_it_looks_at_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowding, "_FURTHEST", 5)
    body = coarse.PairWiseRequest(targets=[b""] * 11, tracking_id=PADDING).SerializeToString()
    check_crowding(body, coarse.PairWiseRequest, LIMITS)


@given(st.binary(max_size=200))
def test_bytes_that_make_no_sense_are_left_to_the_parser(body: bytes) -> None:
    with (
        patch.object(crowding, "LARGE_BYTES", 0),
        suppress(InvalidRequest),  # who happens to write many entries may be told so
    ):
        check_crowding(body, coarse.PairWiseRequest, LIMITS)
