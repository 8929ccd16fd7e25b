"""Who is let in, and for what."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from inferflow.access import (
    OPERATOR,
    BookKeys,
    CallerBook,
    Credentials,
    Gate,
    KeyBook,
    KeyCard,
    KeyHasher,
    ModelPatterns,
    NamedCaller,
    OpenGate,
    Permission,
    RateLimit,
    mint_key,
    token_digest,
)
from inferflow.errors import PermissionDenied, RateLimited, RegistryBusy, Unauthenticated

HASHER = KeyHasher(bytes(range(32)))
_counted = itertools.count(1)


def made(may: Permission, **facts: object) -> tuple[str, KeyBook]:
    """A key, and a book that holds it alone."""
    key = mint_key(lambda size: next(_counted).to_bytes(size, "big"))
    card = KeyCard(key.key_id, "shop", frozenset({may}), ModelPatterns(), 0, **facts)  # type: ignore[arg-type]
    return key.text, KeyBook(HASHER, [HASHER.stored(card, key)])


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def source(book: KeyBook) -> BookKeys:
    return BookKeys(book, lambda: 1.0)


def admit(gate: Gate | OpenGate, shown: Credentials, **asked: object) -> KeyCard:
    asked.setdefault("needs", Permission.INFERENCE)
    return asyncio.run(gate.admit(shown, **asked))  # type: ignore[arg-type]


def test_a_key_of_any_source_lets_its_owner_in() -> None:
    (first, one), (second, two) = made(Permission.INFERENCE), made(Permission.INFERENCE)
    gate = Gate([source(one), source(two)], Clock())
    assert admit(gate, Credentials(first)).name == "shop"
    assert admit(gate, Credentials(second)).name == "shop"
    third, _ = made(Permission.INFERENCE)
    with pytest.raises(Unauthenticated, match="unknown, expired or revoked"):
        admit(gate, Credentials(third))


def test_what_a_key_may_not_do_is_denied_by_name() -> None:
    text, book = made(Permission.INFERENCE)
    gate = Gate([source(book)], Clock())
    with pytest.raises(PermissionDenied, match="lacks the permission 'admin'"):
        admit(gate, Credentials(text), needs=Permission.ADMIN)
    either = frozenset({Permission.ADMIN, Permission.INFERENCE})
    assert admit(gate, Credentials(text), needs=either).name == "shop"


def test_a_key_for_some_models_is_denied_others() -> None:
    key = mint_key(bytes)
    card = KeyCard(key.key_id, "", frozenset(Permission), ModelPatterns(("rank*",)), 0)
    gate = Gate([source(KeyBook(HASHER, [HASHER.stored(card, key)]))], Clock())
    assert admit(gate, Credentials(key.text), model="ranker") is card
    with pytest.raises(PermissionDenied, match="not for model 'fraud'"):
        admit(gate, Credentials(key.text), model="fraud")


def test_a_name_and_a_token_are_as_good_as_a_key_and_the_token_may_be_one() -> None:
    text, book = made(Permission.INFERENCE)
    card = KeyCard("caller:web", "web", frozenset({Permission.VIEW}), ModelPatterns(), 0)
    callers = CallerBook({"web": NamedCaller(card, (token_digest("s3"),))})
    gate = Gate([source(book)], Clock(), callers=callers)
    shown = Credentials(caller="web", token="s3")
    assert admit(gate, shown, needs=Permission.VIEW) is card
    assert admit(gate, Credentials(caller="anything", token=text)).name == "shop"
    for wrong in (Credentials(caller="web", token="s4"), Credentials(caller="who", token="s3")):
        with pytest.raises(Unauthenticated, match="unknown, or its token is wrong"):
            admit(gate, wrong)


def test_a_certificate_is_its_owners_identity_unless_a_key_is_shown() -> None:
    text, book = made(Permission.INFERENCE)
    card = KeyCard("certificate:a", "a", frozenset({Permission.ADMIN}), ModelPatterns(), 0)
    gate = Gate([source(book)], Clock(), certificates={"spiffe://shop/a": card})
    names = ("other.host", "spiffe://shop/a")
    assert admit(gate, Credentials(certificate=names), needs=Permission.ADMIN) is card
    with pytest.raises(PermissionDenied):  # the key decides, and it may less
        admit(gate, Credentials(text, certificate=names), needs=Permission.ADMIN)
    with pytest.raises(Unauthenticated, match="'b' is nobody's here"):
        admit(gate, Credentials(certificate=("b",)))


def test_whoever_shows_nothing_is_told_what_to_show_and_not_held_against_it() -> None:
    text, book = made(Permission.INFERENCE)
    gate = Gate([source(book)], Clock())
    for _ in range(200):
        with pytest.raises(Unauthenticated, match="authorization: Bearer"):
            admit(gate, Credentials(source="10.0.0.1"))
    assert admit(gate, Credentials(text, source="10.0.0.1"))


def test_of_many_guesses_few_are_looked_at() -> None:
    class Counting:
        asked = 0

        async def identify(self, key: str) -> KeyCard:
            self.asked += 1
            raise Unauthenticated("no")

    counting = Counting()
    gate = Gate([counting], Clock())
    for guess in range(10_000):
        shown = Credentials(f"ifk_{guess:012x}_{'a' * 43}", source=f"10.0.{guess % 50}.1")
        with pytest.raises((Unauthenticated, RateLimited)):
            admit(gate, shown)
    assert counting.asked <= 100


def test_a_key_with_a_rate_is_told_when_to_come_back_and_others_are_not() -> None:
    clock = Clock()
    text, book = made(Permission.INFERENCE, rate=RateLimit(10, 2))
    other, others = made(Permission.INFERENCE)
    gate = Gate([source(book), source(others)], clock)
    for _ in range(2):
        admit(gate, Credentials(text))
    with pytest.raises(RateLimited) as refused:
        admit(gate, Credentials(text))
    assert refused.value.retry_after_ms == 100
    assert admit(gate, Credentials(text), counts=False)
    assert admit(gate, Credentials(other))
    clock.now += 0.25
    assert admit(gate, Credentials(text))


def test_a_source_that_cannot_tell_is_no_guess_of_the_callers() -> None:
    class Away:
        async def identify(self, key: str) -> KeyCard:
            raise RegistryBusy("nobody there")

    gate = Gate([Away()], Clock())
    for _ in range(100):
        with pytest.raises(RegistryBusy):
            admit(gate, Credentials("ifk_x", source="10.0.0.1"))


def test_an_open_gate_takes_everybody_for_the_operator() -> None:
    assert admit(OpenGate(), Credentials(), needs=Permission.ADMIN) is OPERATOR


def test_credentials_do_not_print_what_proves_them() -> None:
    text = repr(Credentials("ifk_secret", caller="web", token="t0ken"))
    assert "secret" not in text
    assert "t0ken" not in text


def test_callers_behind_one_proxy_do_not_pay_for_each_others_guesses() -> None:
    key, book = made(Permission.INFERENCE)
    named = KeyCard("caller:web", "web", frozenset({Permission.INFERENCE}), ModelPatterns(), 0)
    callers = CallerBook({"web": NamedCaller(named, (token_digest("t"),))})
    gate = Gate([source(book)], Clock(), callers=callers)
    good = [
        Credentials(key, source="proxy"),
        Credentials(caller="web", token="t", source="proxy"),
    ]
    for each in good:
        admit(gate, each)
    for number in range(100):
        with pytest.raises((Unauthenticated, RateLimited)):
            admit(gate, Credentials(f"ifk_guess{number}", source="proxy"))
    assert [admit(gate, each).name for each in good] == ["shop", "web"]
    with pytest.raises(RateLimited):
        admit(gate, Credentials(caller="web2", token="t", source="proxy"))


def test_closing_a_gate_closes_whoever_it_asks() -> None:
    closed: list[str] = []

    class Asked:
        def __init__(self, name: str) -> None:
            self._name = name

        async def identify(self, key: str) -> KeyCard:
            raise Unauthenticated(key)

        async def close(self) -> None:
            closed.append(self._name)

    asyncio.run(Gate([Asked("a"), Asked("b")], lambda: 0.0).close())
    assert closed == ["a", "b"]
