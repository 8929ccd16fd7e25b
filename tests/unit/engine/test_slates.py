"""Indices of pairs and slates are checked, and every refusal names its place."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.engine.limits import Limits
from inferflow.engine.slates import Slates
from inferflow.errors import InvalidRequest

from ...robustness.scenario import StartScenario

Kind = Literal["pairs", "slates"]


def slates(groups: Any, rows: int = 4, kind: Kind = "slates") -> Slates:
    return Slates.of(kind, groups, rows, Limits(slates=10, pairs=10, slate_size=5))


def refusal(groups: Any, rows: int = 4, kind: Kind = "slates") -> InvalidRequest:
    with pytest.raises(InvalidRequest) as refused:
        slates(groups, rows, kind)
    return refused.value


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=10))
def test_members_come_back_as_they_were_given(groups: list[list[int]]) -> None:
    found = slates(groups)
    assert found.count == len(groups)
    assert found.sizes.tolist() == [len(group) for group in groups]
    assert [found.members(n).tolist() for n in range(found.count)] == groups


@pytest.mark.parametrize("index", [-1, 4, 2**31, 2**70, -(2**70)])
def test_an_index_outside_the_targets_is_named(index: int, scenario: StartScenario) -> None:
    tried = scenario("F4", "an index of -1, n, 2^31, ±2^70")
    refused = refusal([[0], [1], [2], [3, index]])
    tried.holds("its place is named", refused.field, refused.field == "slates[3][1]")
    assert str(index) in refused.what
    assert "from 0 to 3" in refused.hint


@pytest.mark.scenario("F4")
def test_a_pair_names_its_second_index() -> None:
    assert refusal([[0, 1], [2, 9]], kind="pairs").field == "pairs[1][1]"


@pytest.mark.parametrize("index", ["1", 1.0, None, True, [0], np.float32(1)])
def test_an_index_is_a_whole_number(index: Any) -> None:
    refused = refusal([[0, 1], [2, index]])
    assert refused.field == "slates[1][1]"
    assert "not a target index" in refused.what


def test_numpy_integers_and_arrays_are_indices() -> None:
    assert slates([[np.int64(1), np.uint8(2)]]).indices.tolist() == [1, 2]
    assert slates([np.array([3, 0])]).indices.tolist() == [3, 0]
    assert slates(np.array([[0, 1], [2, 3]]), kind="pairs").indices.tolist() == [0, 1, 2, 3]


def test_an_array_of_floats_is_refused() -> None:
    assert refusal(np.array([[0.0, 1.0]])).field == "slates[0][0]"


@pytest.mark.parametrize("groups", [[], (), np.empty((0, 2), np.int64)])
def test_there_must_be_slates(groups: Any) -> None:
    refused = refusal(groups)
    assert refused.field == "slates"
    assert "there are no slates" in refused.what


@pytest.mark.parametrize("groups", [5, "0,1", {"a": [0]}, None])
def test_slates_are_a_list_of_lists(groups: Any) -> None:
    assert "a list of lists" in refusal(groups).what


@pytest.mark.parametrize("group", [5, "01", {0: 1}, None])
def test_a_slate_is_a_list(group: Any) -> None:
    refused = refusal([[0], group])
    assert refused.field == "slates[1]"
    assert "a list of target indices" in refused.what


@pytest.mark.scenario("F4")
def test_a_slate_is_not_empty() -> None:
    refused = refusal([[0], []])
    assert (refused.field, refused.what) == ("slates[1]", "a slate has at least one target")


@pytest.mark.parametrize("pair", [[], [0], [0, 1, 2]])
def test_a_pair_has_two_targets(pair: list[int]) -> None:
    assert refusal([[0, 1], pair], kind="pairs").field == "pairs[1]"


@pytest.mark.scenario("F4")
def test_one_target_may_be_in_a_slate_twice() -> None:
    assert slates([[1, 1]]).indices.tolist() == [1, 1]


def test_too_many_slates_and_too_large_ones_name_the_limit() -> None:
    many = refusal([[0]] * 11)
    assert (many.field, "slates=10" in many.what) == ("slates", True)
    large = refusal([[0], [0] * 6])
    assert (large.field, "slate_size=5" in large.what) == ("slates[1]", True)
    pairs = refusal([[0, 0]] * 11, kind="pairs")
    assert "pairs=10" in pairs.what
