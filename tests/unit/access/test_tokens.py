"""Session tokens: what is accepted, and all the ways in which one is not."""

from __future__ import annotations

import base64
import itertools
import json
import secrets
from dataclasses import replace
from typing import Any

import jwt
import pytest

from inferflow.access import (
    Claims,
    Revocations,
    SigningKey,
    TokenRules,
    TokenVerifier,
    VerifyingKey,
    sign_token,
)
from inferflow.access.signing import new_signing_key, signer_at, verifying_at
from inferflow.access.tokens import TYPE
from inferflow.errors import InvalidInput, PermissionDenied, Unauthenticated
from inferflow.testing import ManualClock

from ...robustness.scenario import StartScenario

NOW = 1_800_000_000
CLAIMS = Claims("t1", "k1", ("w1", "w2"), "ranker", "3", NOW, NOW, NOW + 300)


def signing_key(seed: int = 1) -> SigningKey:
    return SigningKey(f"key-{seed}", bytes([seed] * 32), 0, 10**15, 10**15)


KEY = signing_key()


def verifier(clock: ManualClock | None = None, worker_id: str | None = "w1") -> TokenVerifier:
    made = TokenVerifier(worker_id, clock or ManualClock(float(NOW)))
    made.use_keys([KEY.verifying()])
    return made


def payload(**changes: Any) -> dict[str, Any]:
    plain = {
        "iss": "inferflow",
        "sub": "k1",
        "aud": ["w1"],
        "jti": "t1",
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 300,
        "model": "ranker",
        "version": "3",
    }
    return {name: value for name, value in (plain | changes).items() if value is not None}


def encode(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def forged(header: dict[str, Any], claims: dict[str, Any], key: SigningKey = KEY) -> str:
    """A token with any header and claims, properly signed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    body = f"{encode(header)}.{encode(claims)}"
    signature = Ed25519PrivateKey.from_private_bytes(key.seed).sign(body.encode())
    return f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


HEADER = {"alg": "EdDSA", "typ": TYPE, "kid": KEY.kid}


def test_a_token_says_what_it_was_made_for() -> None:
    assert verifier().verify(sign_token(CLAIMS, KEY)) == CLAIMS


def test_our_own_forgery_with_nothing_changed_is_accepted() -> None:
    """So that every refusal below is for the change, and not for the way it was made."""
    assert verifier().verify(forged(HEADER, payload())).key_id == "k1"


# --- forged ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        HEADER | {"kid": "unknown"},
        HEADER | {"kid": "../../etc/passwd"},
        HEADER | {"kid": ["key-1"]},
        HEADER | {"kid": None},
        HEADER | {"typ": "JWT"},
        HEADER | {"alg": "none"},
        HEADER | {"alg": "HS256"},
        HEADER | {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": "AA"}},
        HEADER | {"jku": "http://127.0.0.1:1/keys"},
        HEADER | {"x5u": "http://127.0.0.1:1/chain"},
        HEADER | {"crit": ["exp"]},
        HEADER | {"b64": False},
        {"alg": "EdDSA", "typ": TYPE},
        {"alg": "EdDSA", "kid": KEY.kid},
    ],
    ids=str,
)
def test_a_header_that_is_not_exactly_ours_is_refused(
    header: dict[str, Any], scenario: StartScenario
) -> None:
    tried = scenario("G3", "tokens with the headers of known attacks")
    with pytest.raises(Unauthenticated) as refused:
        verifier().verify(forged(header, payload()))
    tried.shown("refused", type(refused.value).__name__)


@pytest.mark.scenario("G3")
def test_unsigned_tokens_are_refused() -> None:
    header = HEADER | {"alg": "none"}
    for signature in ("", "AA"):
        with pytest.raises(Unauthenticated):
            verifier().verify(f"{encode(header)}.{encode(payload())}.{signature}")


@pytest.mark.scenario("G3")
def test_the_public_key_taken_for_a_shared_secret_is_refused() -> None:
    import hashlib
    import hmac

    body = f"{encode(HEADER | {'alg': 'HS256'})}.{encode(payload())}"
    digest = hmac.digest(KEY.verifying().public, body.encode(), hashlib.sha256)
    signature = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    with pytest.raises(Unauthenticated):
        verifier().verify(f"{body}.{signature}")


@pytest.mark.scenario("G3")
def test_a_token_signed_by_another_key_under_our_name_is_refused() -> None:
    impostor = replace(signing_key(2), kid=KEY.kid)
    with pytest.raises(Unauthenticated):
        verifier().verify(sign_token(CLAIMS, impostor))


def test_every_changed_character_is_noticed() -> None:
    token = sign_token(CLAIMS, KEY)
    for place in range(0, len(token) - 1, 7):
        other = "A" if token[place] != "A" else "B"
        with pytest.raises(Unauthenticated):
            verifier().verify(token[:place] + other + token[place + 1 :])


@pytest.mark.parametrize(
    "text", ["", ".", "..", "a.b.c", "é.é.é", "x" * 9000, "{}", "[" * 5000, "\0"]
)
def test_what_is_no_token_is_refused_briefly(text: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        verifier().verify(text)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize("claim", sorted(payload()))
def test_a_missing_claim_is_refused(claim: str) -> None:
    with pytest.raises(Unauthenticated):
        verifier().verify(forged(HEADER, payload(**{claim: None})))


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "somebody"},
        {"aud": "w1"},
        {"aud": []},
        {"aud": [1]},
        {"sub": ""},
        {"sub": 7},
        {"jti": ""},
        {"model": ""},
        {"version": 3},
        {"exp": float(NOW + 300)},
        {"exp": str(NOW + 300)},
        {"exp": True},
        {"iat": NOW + 10},
        {"nbf": NOW + 300},
        {"exp": NOW + 901},
        {"exp": 2**70},
    ],
    ids=str,
)
def test_claims_no_manager_makes_are_refused_whoever_signed(changes: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        verifier().verify(forged(HEADER, payload(**changes)))


# --- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "is_accepted"),
    [
        (NOW - 31, False),
        (NOW - 30.001, False),
        (NOW - 30, True),
        (NOW, True),
        (NOW + 299, True),
        (NOW + 300, True),
        (NOW + 329.999, True),
        (NOW + 330, False),
        (NOW + 331, False),
    ],
)
@pytest.mark.parametrize("is_known", [False, True], ids=["first seen", "seen before"])
def test_the_leeway_is_thirty_seconds_on_either_side(
    at: float, is_accepted: bool, is_known: bool, scenario: StartScenario
) -> None:
    clock = ManualClock(float(NOW))
    checking = verifier(clock)
    token = sign_token(CLAIMS, KEY)
    if is_known:
        checking.verify(token)
    clock.now = at
    if is_accepted:
        checking.verify(token)
    else:
        with pytest.raises(Unauthenticated, match="expired or is not valid yet"):
            checking.verify(token)
    judged = f"{'good' if is_accepted else 'refused'} at {at - NOW:+g} s"
    scenario("G2", "a token around its beginning and end").shown("30 s of leeway", judged)
    scenario("J2", "a token to the millisecond").shown("the limit is exact", judged)


# --- whom and what for --------------------------------------------------------------------------


def test_a_token_shown_to_a_worker_it_does_not_name_is_refused() -> None:
    token = sign_token(CLAIMS, KEY)
    verifier(worker_id="w2").verify(token)
    with pytest.raises(Unauthenticated, match="for other workers"):
        verifier(worker_id="w3").verify(token)


@pytest.mark.parametrize(("model", "version"), [("ranker", "4"), ("other", "3"), ("ranker", "")])
def test_a_token_is_for_one_version_of_one_model(model: str, version: str) -> None:
    checking, token = verifier(), sign_token(CLAIMS, KEY)
    checking.verify_for(token, model="ranker", version="3")
    with pytest.raises(PermissionDenied, match="'ranker' version 3"):
        checking.verify_for(token, model=model, version=version)


# --- revocation, rotation, memory ---------------------------------------------------------------


@pytest.mark.parametrize(
    "revocations",
    [Revocations(key_ids=frozenset({"k1"})), Revocations(token_ids=frozenset({"t1"}))],
    ids=["key", "token"],
)
def test_a_revoked_token_is_refused_though_it_was_accepted_before(revocations: Revocations) -> None:
    checking, token = verifier(), sign_token(CLAIMS, KEY)
    checking.verify(token)
    checking.use_revocations(revocations)
    with pytest.raises(Unauthenticated, match="revoked"):
        checking.verify(token)
    checking.use_revocations(Revocations())
    checking.verify(token)


def test_tokens_of_both_keys_are_accepted_while_they_change_over() -> None:
    checking, second = verifier(), signing_key(2)
    old, new = sign_token(CLAIMS, KEY), sign_token(replace(CLAIMS, token_id="t2"), second)
    with pytest.raises(Unauthenticated, match="not known here"):
        checking.verify(new)
    checking.use_keys([KEY.verifying(), second.verifying()])
    checking.verify(old)
    checking.verify(new)
    checking.use_keys([second.verifying()])
    checking.verify(new)
    with pytest.raises(Unauthenticated, match="not known here"):
        checking.verify(old)


def test_a_token_seen_before_is_not_checked_against_its_signature_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checking, token = verifier(), sign_token(CLAIMS, KEY)
    checking.verify(token)
    monkeypatch.setattr(jwt, "decode", lambda *_, **__: pytest.fail("read again"))
    assert checking.verify(token) == CLAIMS


def test_only_so_many_tokens_are_remembered() -> None:
    clock = ManualClock(float(NOW))
    checking = TokenVerifier("w1", clock, most_remembered=2)
    checking.use_keys([KEY.verifying()])
    for number in range(5):
        checking.verify(sign_token(replace(CLAIMS, token_id=f"t{number}"), KEY))
    assert len(checking._remembered) == 2


@pytest.mark.scenario("G2")
def test_a_longer_life_than_allowed_is_refused_and_the_limit_can_be_set() -> None:
    token = sign_token(replace(CLAIMS, expires_s=NOW + 901), KEY)
    with pytest.raises(Unauthenticated):
        verifier().verify(token)
    patient = TokenVerifier("w1", ManualClock(float(NOW)), rules=TokenRules(max_ttl_s=1000))
    patient.use_keys([KEY.verifying()])
    patient.verify(token)


# --- signing keys over time ---------------------------------------------------------------------


def test_the_key_that_signs_is_the_one_that_began_last() -> None:
    first = SigningKey("a", bytes(32), 0, 100, 200)
    second = SigningKey("b", bytes(32), 50, 150, 250)
    assert signer_at([first, second], 49) is first
    assert signer_at([first, second], 50) is second
    assert signer_at([first, second], 149) is second
    assert signer_at([first, second], 150) is None


def test_workers_know_keys_before_and_after_they_sign() -> None:
    first = SigningKey("a", bytes([1] * 32), 0, 100, 200)
    second = SigningKey("b", bytes([2] * 32), 50, 150, 250)
    assert [key.kid for key in verifying_at([second, first], 10)] == ["a", "b"]
    assert [key.kid for key in verifying_at([first, second], 199)] == ["a", "b"]
    assert [key.kid for key in verifying_at([first, second], 200)] == ["b"]


def test_new_keys_differ_and_do_not_show_their_seed() -> None:
    made = [
        new_signing_key(secrets.token_bytes, signs_from_ms=0, signs_until_ms=1, verifies_until_ms=2)
        for _ in range(2)
    ]
    assert made[0].kid != made[1].kid
    assert made[0].verifying().public != made[1].verifying().public
    for one, text in itertools.product(made, (repr(made),)):
        assert one.seed.hex() not in text
        assert repr(one.seed) not in text


def test_a_verifying_key_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidInput, match="31 bytes, not 32"):
        VerifyingKey("k", bytes(31))
