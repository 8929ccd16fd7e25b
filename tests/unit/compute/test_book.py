"""All expressions of a project at once."""

from __future__ import annotations

import pytest

from inferflow.compute import ExpressionBook
from inferflow.errors import ExpressionInvalid


def test_a_book_compiles_every_source_form():
    book = ExpressionBook({"blend": "a * 2", "old": {"postfix": "a b +"}, 7: {"expression": "a"}})
    assert book.problems == ()
    assert book.ids == ("blend", "old", "7")
    assert book.get("old").postfix() == "a b +"
    assert book.get("7").variables == ("a",)


def test_every_problem_is_listed_and_the_good_expressions_stay():
    book = ExpressionBook({"bad": "a +", "good": "a", "worse": 3, "worst": {"infix": "lgo(a)"}})
    assert [compute_id for compute_id, _ in book.problems] == ["bad", "worse", "worst"]
    assert all(isinstance(problem, ExpressionInvalid) for _, problem in book.problems)
    assert book.ids == ("good",)
    assert book.get("bad") is None


def test_two_spellings_of_one_id_leave_neither():
    book = ExpressionBook({1: "a", "1": "b"})
    assert book.ids == ()
    assert "two expressions" in str(book.problems[0][1])


@pytest.mark.parametrize("key", [None, True, 1.5, ""])
def test_an_id_must_be_text(key):
    book = ExpressionBook({key: "a"})
    assert book.ids == ()
    assert "cannot be a compute id" in str(book.problems[0][1])


def test_the_nearest_id_is_offered():
    book = ExpressionBook({"blend_v1": "a", "other": "b"})
    assert book.nearest("blend_v2") == "blend_v1"
    assert book.nearest("zzz") == ""
