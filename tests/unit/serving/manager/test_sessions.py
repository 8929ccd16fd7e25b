"""Tokens for callers, keys to sign them with, and what workers learn of both."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from inferflow.access import OPERATOR, KeyCard, Permission, TokenVerifier
from inferflow.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    RegistryFailed,
    Unauthenticated,
)
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.secret import load_secret, parse_secret
from inferflow.serving.manager.services import open_services
from inferflow.serving.manager.sessions import Session

from .office import CALLER, UPLOADER, Office, card


def issue(office: Office, by: KeyCard = CALLER, version: str = "1") -> Session:
    return office.services.sessions.issue(by, model="ranker", version=version, workers=["w1", "w2"])


def worker_of(office: Office, worker_id: str = "w1") -> TokenVerifier:
    """A worker that has just had its heartbeat answered."""
    worker = TokenVerifier(worker_id, office.clock)
    learn(office, worker)
    return worker


def learn(office: Office, worker: TokenVerifier) -> None:
    worker.use_keys(office.services.sessions.verifying_keys())
    worker.use_revocations(office.services.sessions.revocations())


def test_a_token_is_accepted_by_the_workers_it_names(office: Office) -> None:
    session = issue(office)
    claims = worker_of(office).verify_for(session.token, model="ranker", version="1")
    assert (claims.key_id, claims.token_id) == ("caller", session.token_id)
    assert claims.expires_s * 1000 == session.expires_ms
    assert session.expires_ms == int(office.clock() + 300) * 1000
    with pytest.raises(Unauthenticated):
        worker_of(office, "w3").verify(session.token)
    assert session.token not in repr(session)


def test_a_token_needs_the_permission_the_model_and_a_worker(office: Office) -> None:
    with pytest.raises(PermissionDenied):
        issue(office, UPLOADER)
    with pytest.raises(PermissionDenied):
        issue(office, card("c", Permission.INFERENCE, models=["other"]))
    with pytest.raises(InvalidInput, match="at least one"):
        office.services.sessions.issue(CALLER, model="ranker", version="1", workers=[])


def test_a_token_does_not_outlive_its_key(office: Office) -> None:
    soon = replace(CALLER, expires_ms=int((office.clock() + 60) * 1000))
    assert issue(office, soon).expires_ms == soon.expires_ms
    now = replace(CALLER, expires_ms=int(office.clock() * 1000) + 500)
    with pytest.raises(Unauthenticated, match="about to expire"):
        issue(office, now)


def test_tokens_go_on_after_a_restart_of_the_manager(office: Office) -> None:
    session, worker = issue(office), worker_of(office)
    office.reopen()
    learn(office, worker)
    worker.verify(session.token)
    assert office.services.sessions.read(session.token).token_id == session.token_id


# --- renewing -----------------------------------------------------------------------------------


def test_a_renewed_token_is_for_the_same_and_lasts_longer(office: Office) -> None:
    office.publish()
    session = issue(office)
    office.clock.advance(200)
    renewed = office.services.sessions.refresh(CALLER, session.token)
    assert renewed.expires_ms == session.expires_ms + 200_000
    assert (renewed.model, renewed.version, renewed.workers) == ("ranker", "1", ("w1", "w2"))
    assert renewed.token_id != session.token_id


def test_an_ended_token_is_not_renewed(office: Office) -> None:
    office.publish()
    session = issue(office)
    office.clock.advance(330)
    with pytest.raises(Unauthenticated):
        office.services.sessions.refresh(CALLER, session.token)


def test_a_token_is_renewed_by_the_key_it_was_made_for(office: Office) -> None:
    office.publish()
    session = issue(office)
    with pytest.raises(Unauthenticated, match="another API key"):
        office.services.sessions.refresh(card("thief", Permission.INFERENCE), session.token)
    lessened = card("caller", Permission.UPLOAD)
    with pytest.raises(PermissionDenied):
        office.services.sessions.refresh(lessened, session.token)


def test_a_token_for_a_version_that_is_gone_is_not_renewed(office: Office) -> None:
    office.publish()
    session = issue(office)
    office.run(office.services.registry.delete_version(OPERATOR, "ranker", 1))
    with pytest.raises(NotFound, match="ranker@1"):
        office.services.sessions.refresh(CALLER, session.token)


# --- taking back --------------------------------------------------------------------------------


def test_revoking_a_key_reaches_workers_with_their_next_heartbeat(office: Office) -> None:
    made = office.run(office.services.keys.create(OPERATOR, KeyOrder("k", ["inference"])))
    session, worker = issue(office, made.card), worker_of(office)
    worker.verify(session.token)
    office.run(office.services.keys.revoke(OPERATOR, made.card.key_id))
    learn(office, worker)
    with pytest.raises(Unauthenticated, match="revoked"):
        worker.verify(session.token)


def test_a_revoked_key_is_listed_as_long_as_a_token_of_it_may_live(office: Office) -> None:
    made = office.run(office.services.keys.create(OPERATOR, KeyOrder("k", ["inference"])))
    session, worker = issue(office, made.card), worker_of(office)
    office.run(office.services.keys.revoke(OPERATOR, made.card.key_id))
    for _ in range(40):
        learn(office, worker)
        with pytest.raises(Unauthenticated):
            worker.verify(session.token)
        office.clock.advance(10)
    assert office.services.sessions.revocations().key_ids == frozenset()


def test_one_token_can_be_taken_back(office: Office) -> None:
    one, other = issue(office), issue(office)
    worker = worker_of(office)
    with pytest.raises(PermissionDenied):
        office.run(office.services.sessions.revoke(CALLER, one.token_id))
    office.run(office.services.sessions.revoke(OPERATOR, one.token_id))
    learn(office, worker)
    with pytest.raises(Unauthenticated, match="revoked"):
        worker.verify(one.token)
    worker.verify(other.token)
    office.clock.advance(1000)
    office.run(office.services.tidy())
    office.run(office.services.signing.rotate(OPERATOR))
    assert office.services.sessions.revocations().token_ids == frozenset()


# --- signing keys -------------------------------------------------------------------------------


def test_managers_that_start_together_sign_with_one_key(office: Office) -> None:
    assert len(office.services.sessions.verifying_keys()) == 1
    second = office.another()
    assert second.sessions.verifying_keys() == office.services.sessions.verifying_keys()

    async def both() -> None:
        office.clock.advance(30 * 86_400 - 60)
        await asyncio.gather(office.services.signing.keep(), second.signing.keep())

    office.run(both())
    assert len(office.services.sessions.verifying_keys()) == 2
    office.run(second.close())


def test_a_rotation_is_not_noticed_by_anyone_who_holds_a_token(office: Office) -> None:
    """A worker hears from the manager every ten seconds; callers come all the time."""
    worker = worker_of(office)
    held: list[Session] = []
    office.run(office.services.signing.rotate(OPERATOR))
    for second in range(600):
        if second % 10 == 0:
            learn(office, worker)
        held.append(issue(office))
        held = [session for session in held if session.expires_ms > office.clock() * 1000]
        worker.verify(held[0].token)
        worker.verify(held[-1].token)
        office.clock.advance(1)
    office.run(office.services.tidy())
    assert len(office.services.sessions.verifying_keys()) == 1


def test_keys_change_by_themselves_over_the_years(office: Office) -> None:
    seen = set()
    for _ in range(24):
        office.run(office.services.tick())
        session, worker = issue(office), worker_of(office)
        worker.verify(session.token)
        office.run(office.services.tidy())
        seen |= {key.kid for key in office.services.sessions.verifying_keys()}
        office.clock.advance(30 * 86_400)
    assert len(seen) == 24
    assert len(office.services.live.snapshot.signing) <= 2


def test_a_clock_that_was_ahead_and_is_set_right_leaves_somebody_to_sign(office: Office) -> None:
    office.clock.now -= 20 * 86_400  # wall clocks can
    office.run(office.services.tick())
    session = issue(office)
    assert worker_of(office).verify(session.token).key_id == "caller"
    office.run(office.services.tick())
    assert len(office.services.live.snapshot.signing) == 2
    office.clock.advance(20 * 86_400)
    assert worker_of(office).verify(issue(office).token).key_id == "caller"


def test_a_withdrawn_key_is_trusted_no_longer_and_another_signs_at_once(office: Office) -> None:
    session, worker = issue(office), worker_of(office)
    (leaked,) = office.services.sessions.verifying_keys()
    office.run(office.services.signing.withdraw(OPERATOR, leaked.kid))
    learn(office, worker)
    with pytest.raises(Unauthenticated, match="not known here"):
        worker.verify(session.token)
    worker.verify(issue(office).token)
    with pytest.raises(NotFound, match="signing key"):
        office.run(office.services.signing.withdraw(OPERATOR, leaked.kid))


def test_signing_keys_are_for_administrators(office: Office) -> None:
    for asked in (
        office.services.signing.rotate(CALLER),
        office.services.signing.withdraw(CALLER, "x"),
    ):
        with pytest.raises(PermissionDenied):
            office.run(asked)


# --- the manager's secret -----------------------------------------------------------------------


def test_a_manager_with_another_secret_is_told_so(office: Office, tmp_path: Path) -> None:
    opening = open_services(
        f"sqlite:///{tmp_path}/registry.db", f"{tmp_path}/files", bytes(32), office.clock
    )
    with pytest.raises(RegistryFailed, match="set up with another secret"):
        office.run(opening)


def test_a_secret_is_made_once_and_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "manager" / "secret"
    made = load_secret(file, lambda size: bytes(range(size)))
    assert made == bytes(range(32))
    assert load_secret(file, lambda _: pytest.fail("made again")) == made
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "secret", "00" * 31, "é"])
def test_a_secret_that_is_too_weak_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="hexadecimal"):
        parse_secret(text, "INFERFLOW_SECRET")
    file = tmp_path / "secret"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match="hexadecimal"):
        load_secret(file, bytes)


def test_a_secret_that_cannot_be_read_or_made_is_told_with_its_place(tmp_path: Path) -> None:
    home = tmp_path
    (home / "folder").mkdir()
    with pytest.raises(RegistryFailed, match="folder"):
        load_secret(home / "folder", bytes)
    (home / "file").write_text("")
    with pytest.raises(RegistryFailed, match="file/secret cannot be"):
        load_secret(home / "file" / "secret", bytes)
