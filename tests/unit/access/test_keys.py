"""API keys: made, kept, recognised, refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from inferflow.access import (
    KeyBook,
    KeyCard,
    KeyHasher,
    ModelPatterns,
    NewKey,
    Permission,
    StoredKey,
    mint_key,
)
from inferflow.errors import InvalidInput, PermissionDenied, Unauthenticated

from ...robustness.scenario import StartScenario

PEPPER = bytes(range(32))


def make_random() -> object:
    counted = itertools.count(1)
    return lambda size: bytes((next(counted) * 7 + i) % 256 for i in range(size))


def card(key_id: str, **changes: object) -> KeyCard:
    plain = KeyCard(
        key_id, "a key", frozenset({Permission.INFERENCE}), ModelPatterns(), created_ms=1_000
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


@pytest.fixture
def key() -> NewKey:
    return mint_key(make_random())  # type: ignore[arg-type]


def book_of(key: NewKey, **changes: object) -> KeyBook:
    hasher = KeyHasher(PEPPER)
    return KeyBook(hasher, [hasher.stored(card(key.key_id, **changes), key)])


def test_a_key_shows_its_id_and_hides_its_secret(key: NewKey) -> None:
    prefix, key_id, secret = key.text.split("_", 2)
    assert (prefix, key_id) == ("ifk", key.key_id)
    assert len(secret) == 43
    assert secret not in repr(key)


def test_what_is_kept_of_a_key_contains_nothing_of_its_secret(key: NewKey) -> None:
    stored = KeyHasher(PEPPER).stored(card(key.key_id), key)
    assert len(stored.digest) == 32
    assert stored.digest.hex() not in repr(stored)
    assert stored.digest != KeyHasher(bytes(32)).stored(card(key.key_id), key).digest


def test_the_holder_of_a_key_is_recognised(key: NewKey) -> None:
    assert book_of(key).authenticate(key.text, now_ms=2_000).key_id == key.key_id


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "ifk_",
        "Bearer ifk_00_11",
        "ifk_zzzzzzzzzzzz_" + "a" * 43,
        "ifk_0123456789ab_" + "a" * 42,
        "ifk_0123456789ab_" + "a" * 43 + "\n",
        "é" * 60,
        "a" * 1_000_000,
    ],
)
def test_what_is_no_key_is_refused_without_being_repeated(text: str, key: NewKey) -> None:
    with pytest.raises(Unauthenticated) as refused:
        book_of(key).authenticate(text, now_ms=2_000)
    assert len(str(refused.value)) < 100


def test_unknown_wrong_expired_and_revoked_keys_are_refused_in_the_same_words(
    key: NewKey, scenario: StartScenario
) -> None:
    tried = scenario("G6", "a key unknown, wrong, expired, revoked")
    other = "B" if key.text[-1] != "B" else "C"
    wrong = key.text[:-2] + other + key.text[-1]
    told = set()
    for book, text in (
        (KeyBook(KeyHasher(PEPPER)), key.text),
        (book_of(key), wrong),
        (book_of(key, expires_ms=2_000), key.text),
        (book_of(key, revoked_ms=1_500), key.text),
    ):
        with pytest.raises(Unauthenticated) as refused:
            book.authenticate(text, now_ms=2_000)
        told.add(str(refused.value))
    tried.at_most("different words for the four", len(told), 1)


@pytest.mark.parametrize(("now_ms", "is_live"), [(1_999, True), (2_000, False), (2_001, False)])
def test_a_key_is_dead_from_the_millisecond_it_expires_on(
    now_ms: int, is_live: bool, scenario: StartScenario
) -> None:
    tried = scenario("J2", "a key that ends at 2000 ms")
    found = card("k", expires_ms=2_000).is_live(now_ms)
    tried.holds("the limit is exact", f"{found} at {now_ms} ms", found is is_live)


def test_a_digest_moved_to_another_key_opens_nothing(key: NewKey) -> None:
    hasher = KeyHasher(PEPPER)
    stolen = hasher.stored(card(key.key_id), key)
    other_id = "0" * 12
    book = KeyBook(hasher, [StoredKey(card(other_id), stolen.digest)])
    with pytest.raises(Unauthenticated):
        book.authenticate(f"ifk_{other_id}_{key.text.split('_', 2)[2]}", now_ms=0)


def test_replacing_the_book_forgets_keys_that_are_gone(key: NewKey) -> None:
    book = book_of(key)
    book.replace([])
    assert len(book) == 0
    assert book.card(key.key_id) is None
    with pytest.raises(Unauthenticated):
        book.authenticate(key.text, now_ms=2_000)


def test_a_short_pepper_is_refused() -> None:
    with pytest.raises(InvalidInput, match="shorter than 32 bytes"):
        KeyHasher(b"pepper")


@pytest.mark.parametrize("held", list(Permission))
@pytest.mark.parametrize("asked", list(Permission))
def test_a_key_may_do_what_it_is_for_and_nothing_else(held: Permission, asked: Permission) -> None:
    one = card("k", permissions=frozenset({held}))
    if held is asked:
        one.require(asked)
    else:
        with pytest.raises(PermissionDenied, match=asked.value):
            one.require(asked)


def test_a_key_is_good_for_its_models_only() -> None:
    one = card("k", models=ModelPatterns(("rank*",)))
    one.require(Permission.INFERENCE, "ranker")
    with pytest.raises(PermissionDenied, match="'calibrator'"):
        one.require(Permission.INFERENCE, "calibrator")
