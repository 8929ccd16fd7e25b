"""What looks for wrong answers in the robustness suite finds them."""

from __future__ import annotations

import pytest

from ..robustness.invariants import REMOVED, Answer, Timeline, violations

WORTH = {"1": 31.0, "2": 2.0}
TIMELINE = Timeline(stale_s=5, changes=[(0, 1), (100, 2), (200, REMOVED)])


def answer(at: float, columns: dict[str, list[float]], version: str = "") -> Answer:
    return Answer(at, at + 1, ["1", "2"], columns, version)


@pytest.mark.parametrize(
    ("at", "columns"),
    [
        (50, {"1": [1031, 1002]}),
        (102, {"1": [1031, 1002]}),  # the change may not have been seen yet
        (99.5, {"2": [2031, 2002]}),  # the change was made while this was asked for
        (204, {"2": [2031, 2002]}),
        (200, {}),
    ],
)
def test_a_right_answer_of_a_version_that_may_be_live_is_fine(
    at: float, columns: dict[str, list[float]]
) -> None:
    assert not [*violations([answer(at, columns)], TIMELINE, WORTH)]


@pytest.mark.parametrize(
    ("at", "columns", "why"),
    [
        (102, {"2": [2031, 1002]}, "no single version"),
        (102, {"2": [2002, 2031]}, "no single version"),
        (102, {"1": [2031, 2002]}, "no single version"),
        (50, {"2": [2031, 2002]}, "version 2 was not live"),
        (106, {"1": [1031, 1002]}, "version 1 was not live"),
        (206, {"2": [2031, 2002]}, "version 2 was not live"),
        (50, {}, "version -1 was not live"),
    ],
)
def test_a_mixed_or_stale_answer_is_found(
    at: float, columns: dict[str, list[float]], why: str
) -> None:
    (found,) = violations([answer(at, columns)], TIMELINE, WORTH)
    assert why in found


def test_two_versions_under_one_name_are_found() -> None:
    both = [answer(50, {"1": [1031, 1002]}, "abc"), answer(150, {"2": [2031, 2002]}, "abc")]
    (found,) = violations(both, TIMELINE, WORTH)
    assert "abc is version 1 too" in found
