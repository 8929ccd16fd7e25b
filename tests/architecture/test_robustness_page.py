"""The page of robustness promises and the tests that keep them cannot drift apart."""

from __future__ import annotations

import pytest

from ..robustness.catalogue import (
    MEASURED,
    NOT_HERE,
    PAGE,
    TESTED,
    entries,
    in_order,
    named,
    shown_by_tests,
)

LISTED = entries(PAGE.read_text(encoding="utf-8"))
SHOWN = shown_by_tests()


def test_the_ids_of_a_section_count_up() -> None:
    assert list(LISTED) == sorted(LISTED, key=in_order)
    sections = {id[0] for id in LISTED}
    counted = {letter: [id for id in LISTED if id[0] == letter] for letter in sections}
    assert all(ids == [f"{s}{n + 1}" for n in range(len(ids))] for s, ids in counted.items())


@pytest.mark.parametrize("id", LISTED)
def test_a_promise_is_shown_as_it_says(id: str) -> None:
    says, shown = LISTED[id].shown, SHOWN.get(id, set())
    if says.startswith(NOT_HERE):
        assert len(says) > len(NOT_HERE)
        assert not shown
    else:
        how, _, left_open = says.partition(": ")
        assert how == (MEASURED if MEASURED in shown else TESTED if shown else "")
        assert bool(left_open) == (says != how)


def test_no_test_names_an_id_that_is_not_on_the_page() -> None:
    assert set(SHOWN) <= set(LISTED)


def test_ids_are_found_however_they_are_named() -> None:
    text = (
        '@pytest.mark.scenario("A1", "A2")\n'
        "def test_one(): ...\n"
        'def test_two(scenario):\n    scenario("B1", f"{1} worker is cut off")\n'
    )
    assert sorted(named(text)) == [(MEASURED, "B1"), (TESTED, "A1"), (TESTED, "A2")]
