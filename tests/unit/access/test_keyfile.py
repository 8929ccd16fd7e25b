"""API keys as a file of their own."""

from __future__ import annotations

import json
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.access import (
    KeyCard,
    KeyFile,
    ModelPatterns,
    NewKey,
    Permission,
    RateLimit,
    mint_key,
    read_keys,
)
from inferflow.errors import InvalidInput, NotFound, Unauthenticated


def with_key(**facts: object) -> tuple[KeyFile, NewKey]:
    made = mint_key(secrets.token_bytes)
    card = KeyCard(
        made.key_id, "shop", frozenset({Permission.INFERENCE}), ModelPatterns(), 5, **facts
    )  # type: ignore[arg-type]
    empty = KeyFile.new(secrets.token_bytes)
    return empty.with_key(empty.hasher.stored(card, made)), made


CARDS = st.builds(
    KeyCard,
    key_id=st.binary(min_size=6, max_size=6).map(bytes.hex),
    name=st.text(max_size=40),
    permissions=st.frozensets(st.sampled_from(Permission), min_size=1),
    models=st.lists(st.from_regex(r"[a-z]{1,5}\*?", fullmatch=True), max_size=3).map(
        lambda names: ModelPatterns(tuple(names))
    ),
    created_ms=st.integers(0, 2**45),
    expires_ms=st.none() | st.integers(1, 2**45),
    revoked_ms=st.none() | st.integers(1, 2**45),
    rate=st.none() | st.builds(RateLimit, st.floats(0.1, 1e6), st.integers(1, 10**6)),
)


@given(st.lists(CARDS, unique_by=lambda card: card.key_id, max_size=5))
def test_a_file_reads_back_as_it_was_written(cards: list[KeyCard]) -> None:
    keys = KeyFile(bytes(32))
    for card in cards:
        keys = keys.with_key(
            keys.hasher.stored(card, NewKey(card.key_id, f"ifk_{card.key_id}_{'a' * 43}"))
        )
    assert read_keys(keys.text(), "keys.json") == keys


def test_a_key_is_known_by_its_file_and_nothing_in_the_file_is_a_key() -> None:
    keys, made = with_key()
    read = read_keys(keys.text(), "keys.json")
    assert read.book().authenticate(made.text, now_ms=6).name == "shop"
    assert made.text.split("_", 2)[2] not in keys.text()
    assert keys.keys[0].digest.hex() not in repr(keys)


def test_a_revoked_key_stays_in_the_file_and_is_refused() -> None:
    keys, made = with_key()
    ended = keys.without(made.key_id, now_ms=7)
    assert ended.keys[0].card.revoked_ms == 7
    assert ended.without(made.key_id, now_ms=9) == ended
    with pytest.raises(Unauthenticated):
        ended.book().authenticate(made.text, now_ms=8)
    with pytest.raises(NotFound):
        keys.without("000000000000", now_ms=7)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"id": "xyz"}, r"keys\[0\]: id: twelve hexadecimal digits"),
        ({"digest": "zz"}, r"keys\[0\]: digest: hexadecimal"),
        ({"permissions": ["fly"]}, r"keys\[0\]: permissions: 'fly'"),
        ({"permissions": []}, "good for nothing"),
        ({"models": "rank*"}, "models: a list of text"),
        ({"models": ["a b"]}, "is not a model name"),
        ({"expires_ms": "soon"}, "expires_ms: milliseconds"),
        ({"per_second": "fast"}, "per_second, burst: numbers"),
        ({"per_second": -1}, "requests_per_second must be above 0"),
        ({"name": 7}, "name: text"),
        ({"colour": "red"}, "unknown: colour"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(
    change: dict[str, object], what: str
) -> None:
    keys, _ = with_key()
    written = json.loads(keys.text())
    written["keys"][0] |= change
    with pytest.raises(InvalidInput, match=what) as refused:
        read_keys(json.dumps(written), "keys.json")
    assert "keys.json" in str(refused.value)
    assert keys.keys[0].digest.hex() not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "an object with 'salt' and 'keys'"),
        ('{"salt": "00", "keys": []}', "salt: 32 bytes"),
        ('{"salt": "", "keys": {}}', "keys: a list"),
        ('{"salt": "", "keys": [7]}', r"keys\[0\]: an object"),
        ('{"salt": "", "keys": [{}]}', "missing: digest, id, permissions"),
    ],
)
def test_a_file_that_is_no_keys_file_is_refused(text: str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        read_keys(text, "keys.json")


def test_a_key_that_is_there_twice_is_refused() -> None:
    keys, _ = with_key()
    with pytest.raises(InvalidInput, match="is there twice"):
        read_keys(keys.with_key(keys.keys[0]).text(), "keys.json")
