"""Key values as text, and as the bytes rows are stored under."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes.keytext import canonical_key, canonical_keys
from inferflow.errors import CastFailed, InvalidInput
from inferflow.featurestore.keys import MAX_KEY_BYTES, KeySpace, is_long, join_parts, split_parts

# Few letters and odd lengths, so that parts of different keys run into each other.
PART = st.text(st.sampled_from("a\x00\x01|é\U0001f600"), max_size=6) | st.text(max_size=3)
NO_NUL = st.characters(codec="utf-8", exclude_characters="\0")  # numpy drops it at an end
LONG = st.builds(lambda text, times: text * times, PART, st.integers(80, 300))
KEYS = st.integers(1, 3).flatmap(
    lambda parts: st.lists(st.tuples(*[PART | LONG] * parts), min_size=1, max_size=20)
)


def columns(keys: list[tuple[str, ...]]) -> tuple[list[str], ...]:
    return tuple(list(column) for column in zip(*keys, strict=True))


@given(KEYS)
def test_two_keys_share_bytes_only_when_they_are_equal(keys: list[tuple[str, ...]]) -> None:
    stored = KeySpace("user", "profile").keys(join_parts(columns(keys)))
    assert len(set(stored)) == len(set(keys))
    assert max(map(len, stored)) <= MAX_KEY_BYTES


@given(KEYS)
def test_joined_parts_can_be_taken_apart(keys: list[tuple[str, ...]]) -> None:
    joined = join_parts(columns(keys))
    assert [split_parts(parts, len(keys[0])) for parts in joined] == keys


@given(KEYS)
def test_a_key_does_not_depend_on_the_batch_it_is_in(keys: list[tuple[str, ...]]) -> None:
    space = KeySpace("user", "profile")
    alone = [space.keys(join_parts(columns([key])))[0] for key in keys]
    assert space.keys(join_parts(columns(keys))) == alone


@given(KEYS, st.booleans())
def test_keys_made_in_one_go_are_those_of_their_joined_parts(
    keys: list[tuple[str, ...]], are_alike: bool
) -> None:
    given = columns(keys)
    if are_alike:
        given = (*([column[0]] * len(keys) for column in given[:-1]), given[-1])
    space = KeySpace("user", "profile")
    assert space.keys_of(given) == space.keys(join_parts(given))


@given(KEYS)
def test_a_stored_key_gives_back_its_parts_unless_it_is_a_digest(
    keys: list[tuple[str, ...]],
) -> None:
    space = KeySpace("user", "profile")
    for parts in join_parts(columns(keys)):
        (stored,) = space.keys([parts])
        assert stored.startswith(space.prefixes[is_long(parts)])
        assert is_long(parts) or space.parts(stored) == parts


def test_groups_and_entities_never_share_a_prefix() -> None:
    names = [("a", "bc"), ("ab", "c"), ("a", "b"), ('a","b', ""), ("a", 'b","')]
    prefixes = {prefix for name in names for prefix in KeySpace(*name).prefixes}
    assert len(prefixes) == 2 * len(names)
    assert len({len(prefix) for prefix in prefixes}) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        (np.int32(7), "7"),
        (np.float32(7), "7"),
        (np.float16(7), "7"),
        (ml_dtypes.float8_e4m3fn(7), "7"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (1e15, "1000000000000000"),
        (2.5, "2.5"),
        (np.float32(0.1), "0.1"),
        (0.1, "0.1"),
        (True, "true"),
        (np.False_, "false"),
        ("7", "7"),
        ("007", "007"),
        (" 7", " 7"),
        (np.str_("x"), "x"),
        (b"caf\xc3\xa9", "café"),
    ],
)
def test_equal_keys_have_one_text_whatever_type_they_came_in(value: object, text: str) -> None:
    assert canonical_key(value) == text
    assert type(canonical_key(value)) is str


@pytest.mark.parametrize(
    "value",
    [None, "", b"", float("nan"), np.float32("inf"), "\ud800", b"\xff", [1], np.datetime64("2024")],
)
def test_a_value_without_a_key_text_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        canonical_key(value)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1))
    | st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32))
    | st.lists(st.text(NO_NUL, min_size=1))
    | st.lists(st.booleans())
)
def test_a_column_of_keys_is_each_key_by_itself(values: list[object]) -> None:
    assert canonical_keys(np.array(values)) == [canonical_key(v) for v in np.array(values)]
    assert canonical_keys(values) == [canonical_key(value) for value in values]


def test_the_row_without_a_key_is_named() -> None:
    with pytest.raises(CastFailed) as refused:
        canonical_keys([1, 2, None])
    assert refused.value.position == 2
