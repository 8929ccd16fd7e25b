"""What records are called in Redis."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.featurestore.keys import KeySpace, join_parts
from inferflow.featurestore.redis_names import Names, by_slot, slot_of

KEYS = st.binary(min_size=1, max_size=40)


@given(st.lists(KEYS, unique=True))
def test_a_name_tells_its_key_and_no_two_keys_share_one(keys: list[bytes]) -> None:
    names = Names("shop").of(keys)
    assert [Names("shop").key(name) for name in names] == keys
    assert len(set(names)) == len(keys)


@given(KEYS, st.integers(0, 12))
def test_the_pattern_of_a_prefix_matches_every_key_that_begins_with_it(
    key: bytes, length: int
) -> None:
    names = Names("shop")
    pattern = names.pattern(key[:length]).decode("latin-1")
    # Redis escapes with a backslash, the shell of Python with brackets.
    parts = [f"[{text[0]}]{text[1:]}" if at else text for at, text in enumerate(_split(pattern))]
    (name,) = names.of([key])
    assert fnmatch.fnmatchcase(name.decode("latin-1"), "".join(parts))


def _split(pattern: str) -> list[str]:
    """At each escape, so that every part but the first begins with what is meant literally."""
    parts, at = [""], 0
    while at < len(pattern):
        if pattern[at] == "\\":
            parts.append(pattern[at + 1])
            at += 2
        else:
            parts[-1] += pattern[at]
            at += 1
    return parts


@pytest.mark.parametrize("parts", [("7",), ("u1", "shoes"), ("}{",), ("a}b",)])
def test_the_groups_of_one_key_lie_in_one_slot(parts: tuple[str, ...]) -> None:
    joined = join_parts(tuple([part] for part in parts))
    keys = [KeySpace("product", group).keys(joined)[0] for group in ("a", "b", "c")]
    names = Names("shop").of(keys)
    if parts[0].startswith("}"):  # an empty tag counts as none
        assert sum(map(len, by_slot(names))) == 3
    else:
        assert by_slot(names) == [[0, 1, 2]]


def test_a_slot_is_what_the_cluster_specification_says() -> None:
    assert slot_of(b"123456789") == 0x31C3
    assert slot_of(b"{user1000}.following") == slot_of(b"user1000")
    assert slot_of(b"foo{}{bar}") == slot_of(b"foo{}{bar}"[:]) != slot_of(b"bar")


@pytest.mark.parametrize("namespace", ["", "a{b", "}"])
def test_a_namespace_that_would_move_records_is_refused(namespace: str) -> None:
    with pytest.raises(InvalidInput, match=r"redis\.namespace"):
        Names(namespace)
