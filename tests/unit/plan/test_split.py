"""Ids that stand for several configs."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.errors import InvalidRequest, NotFound
from inferflow.plan.book import LiveSplit, PlanBook
from inferflow.plan.compiler import compile_config
from inferflow.plan.normalise import unwrap
from inferflow.plan.split import Split, arm_problems
from inferflow.testing import FakeCatalog, FakeModels


def compiled(written: Any) -> tuple[Split | None, list[str]]:
    catalog = FakeCatalog(models=FakeModels({}))
    result = compile_config("home", written, catalog)
    assert result.plan is None
    return result.split, [str(problem) for problem in result.problems]


def test_arms_and_shares_are_read_in_the_order_written() -> None:
    split, problems = compiled({"ab": {"b": 80, "a": 12.5, "c": 7.5}})
    assert problems == []
    assert split == Split("home", ("b", "a", "c"), (80.0, 12.5, 7.5), "home")
    assert split.routes.bounds == (80.0, 92.5, 100.0)


def test_the_salt_is_the_id_unless_written() -> None:
    split, _ = compiled({"ab": {"a": 100}, "salt": "spring"})
    assert split is not None
    assert split.salt == "spring"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"ab": {"a": 80, "b": 30}}, "percentages add up to 110"),
        ({"ab": {"a": 80}}, "percentages add up to 80"),
        ({"ab": {"a": 120, "b": -20}}, "a percentage is wanted, not 120"),
        ({"ab": {"a": "80", "b": 20}}, "a percentage is wanted, not '80'"),
        ({"ab": {"a": True, "b": 99}}, "a percentage is wanted, not True"),
        ({"ab": {}}, "an object of config ids and percentages"),
        ({"ab": ["a"]}, "an object of config ids and percentages"),
        ({"ab": {"a": 100}, "slat": "x"}, "slat: unknown key of a split — closest: 'salt'"),
        ({"ab": {"a": 100}, "salt": 7}, "salt: a text is wanted"),
        ({"ab": {"a": 100}, "response_config": {}}, "response_config: unknown key of a split"),
    ],
)
def test_what_is_wrong_with_a_split_is_said(written: Any, problem: str) -> None:
    split, problems = compiled(written)
    assert split is None
    assert problem in "\n".join(problems)


def test_a_share_of_nothing_is_an_arm_at_rest() -> None:
    split, _ = compiled({"ab": {"a": 100, "b": 0}})
    assert split is not None
    assert split.routes.bounds == (100.0, 100.0)


def test_an_arm_must_be_a_config_and_no_split() -> None:
    split = Split("home", ("rankr", "other", "ranker"), (50, 30, 20), "home")
    found = [str(each) for each in arm_problems(split, ["ranker", "other"], ["other"])]
    assert found == [
        "error: ab['rankr']: there is no such config — closest: 'ranker'",
        "error: ab['other']: is a split itself — name the configs it stands for",
    ]


def test_a_file_may_hold_a_split_alone_or_a_config_that_is_called_ab() -> None:
    assert unwrap({"ab": {"a": 80, "b": 20}}, "home") == {"home": {"ab": {"a": 80, "b": 20}}}
    inner = {"ab": {"dag_execution_config": {}, "component_config": {}, "response_config": {}}}
    assert unwrap(inner, "home") == inner
    wrapped = {"home": {"ab": {"a": 100}}}
    assert unwrap(wrapped, "file") == wrapped


def test_a_book_asked_for_a_split_as_if_it_were_a_plan_names_its_arms() -> None:
    live = LiveSplit(Split("home", ("a", "b"), (50, 50), "home"), ("one", "two"))
    book = PlanBook({"a": "one", "b": "two"}, {}, {"home": live})
    assert book.ids == ("a", "b", "home")
    with pytest.raises(InvalidRequest, match=r"stands for several configs.*one of 'a', 'b'"):
        book.get("home")
    with pytest.raises(NotFound, match="did you mean 'home'"):
        book.get("hom")
