"""Session tokens at a worker's door."""

from __future__ import annotations

import pytest

from inferflow.access import (
    Claims,
    RateLimit,
    Revocations,
    SigningKey,
    sign_token,
)
from inferflow.api.oip.sessions import SessionAccess, SessionCaller
from inferflow.errors import PermissionDenied, RateLimited, Unauthenticated
from inferflow.testing import ManualClock

NOW = 1_800_000_000.0
KEY = SigningKey("kid", bytes(range(32)), 0, 2**60, 2**60)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def access(clock: ManualClock) -> SessionAccess:
    made = SessionAccess(clock, clock)
    made.joined("w1")
    made.use((KEY.verifying(),), Revocations(), {})
    return made


def token(*, workers: tuple[str, ...] = ("w1", "w2"), seconds: int = 300) -> str:
    now = int(NOW)
    claims = Claims("t1", "k1", workers, "m", "3", now, now, now + seconds)
    return sign_token(claims, KEY)


def enter(access: SessionAccess, shown: str) -> SessionCaller:
    return access.identify((("authorization", f"Bearer {shown}"),))


def test_a_caller_may_ask_for_what_its_token_is_for_and_nothing_else(
    access: SessionAccess,
) -> None:
    caller = enter(access, token())
    assert (caller.key_id, caller.version) == ("k1", "3")
    caller.check_inference("m", "3")
    caller.check_model("m")
    for model, version in (("m", "2"), ("other", "3")):
        with pytest.raises(PermissionDenied, match="for model 'm' version 3"):
            caller.check_inference(model, version)
    with pytest.raises(PermissionDenied):
        caller.check_model("other")
    with pytest.raises(PermissionDenied):
        caller.check_administration()


def test_until_it_has_joined_a_worker_lets_nobody_in(clock: ManualClock) -> None:
    access = SessionAccess(clock, clock)
    with pytest.raises(Unauthenticated, match="no fleet yet"):
        enter(access, token())
    access.joined("w1")
    with pytest.raises(Unauthenticated, match="not known here"):
        enter(access, token())


def test_a_token_ends_is_revoked_and_is_for_its_workers_alone(
    access: SessionAccess, clock: ManualClock
) -> None:
    shown = token()
    enter(access, shown)
    with pytest.raises(Unauthenticated, match="other workers"):
        enter(access, token(workers=("w2",)))
    for revoked in (Revocations(frozenset({"k1"})), Revocations(frozenset(), frozenset({"t1"}))):
        access.use((KEY.verifying(),), revoked, {})
        with pytest.raises(Unauthenticated, match="revoked"):
            enter(access, shown)
    access.use((KEY.verifying(),), Revocations(), {})
    clock.advance(329)
    enter(access, shown)
    clock.advance(1)
    with pytest.raises(Unauthenticated, match="expired"):
        enter(access, shown)


def test_joining_again_under_the_same_name_keeps_what_is_known(access: SessionAccess) -> None:
    access.joined("w1")
    enter(access, token())
    access.joined("w9")
    with pytest.raises(Unauthenticated):
        enter(access, token())


def test_a_key_is_held_to_its_limit(access: SessionAccess, clock: ManualClock) -> None:
    access.use((KEY.verifying(),), Revocations(), {"k1": RateLimit(1.0, 2)})
    caller = enter(access, token())
    caller.check_inference("m", "3")
    caller.check_inference("m", "3")
    with pytest.raises(RateLimited, match="'k1'"):
        caller.check_inference("m", "3")
    clock.advance(1)
    caller.check_inference("m", "3")


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", ""),),
        (("authorization", "Basic abc"),),
        (("authorization", "Bearer " + "x" * 9000),),
        (("authorization", "Bearer a"), ("authorization", "Bearer b")),
    ],
)
def test_who_shows_no_token_is_not_identified(
    access: SessionAccess, metadata: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(Unauthenticated):
        access.identify(metadata)
