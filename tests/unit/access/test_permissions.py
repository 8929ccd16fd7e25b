"""Which models a pattern stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.access import ModelPatterns, Permission
from inferflow.access.permissions import permissions_of
from inferflow.errors import InvalidInput

letters = st.text("ab.", max_size=6)
patterns = st.lists(letters, min_size=1, max_size=3).map("*".join).filter(bool)


def matches(pattern: str, name: str) -> bool:
    """By trying everything a `*` may stand for."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(matches(pattern[1:], name[i:]) for i in range(len(name) + 1))
    return bool(name) and name[0] == pattern[0] and matches(pattern[1:], name[1:])


@given(st.lists(patterns, min_size=1, max_size=3), letters)
def test_patterns_agree_with_trying_everything(several: list[str], name: str) -> None:
    expected = any(matches(pattern, name) for pattern in several)
    assert ModelPatterns(tuple(several)).allow(name) is expected


@given(
    st.lists(patterns, max_size=2).map(lambda found: ModelPatterns(tuple(found))),
    st.lists(patterns, max_size=2).map(lambda found: ModelPatterns(tuple(found))),
    letters,
)
def test_what_is_covered_allows_nothing_that_is_not_allowed(
    wide: ModelPatterns, narrow: ModelPatterns, name: str
) -> None:
    if wide.cover(narrow) and narrow.allow(name):
        assert wide.allow(name)
    assert wide.cover(wide)


def test_no_pattern_at_all_is_every_model() -> None:
    assert ModelPatterns().allow("anything")


def test_a_dot_in_a_name_is_a_dot() -> None:
    assert not ModelPatterns(("a.b",)).allow("axb")


@pytest.mark.parametrize("pattern", ["", "a b", "[ab]", "a?", "rank\n", "é", "x" * 129, "*a*b*"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="models"):
        ModelPatterns((pattern,))


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 256"):
        ModelPatterns(("a",) * 257)


def test_patterns_written_the_same_are_equal() -> None:
    assert ModelPatterns(("a*",)) == ModelPatterns(("a*",))
    assert ModelPatterns(("a*",)) != ModelPatterns(("b*",))


def test_permissions_are_read_by_name() -> None:
    assert permissions_of(["admin", "upload"]) == {Permission.ADMIN, Permission.UPLOAD}


@pytest.mark.parametrize("names", [[], ["root"], ["admin", ""]])
def test_unknown_permissions_and_none_at_all_are_refused(names: list[str]) -> None:
    with pytest.raises(InvalidInput, match="permissions"):
        permissions_of(names)
