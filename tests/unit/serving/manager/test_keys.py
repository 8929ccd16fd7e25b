"""API keys as a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.access import OPERATOR, KeyCard, Permission, RateLimit
from inferflow.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    RegistryBusy,
    RegistryConflict,
    Unauthenticated,
)
from inferflow.serving.manager.keys import CreatedKey, KeyOrder
from inferflow.serving.manager.storage.records import Usage

from .office import CALLER, UPLOADER, WORKER, Office, card


def create(office: Office, *permissions: str, **more: object) -> CreatedKey:
    order = KeyOrder("a key", permissions or ("inference",), **more)  # type: ignore[arg-type]
    return office.run(office.services.keys.create(OPERATOR, order))


def test_a_created_key_is_recognised_at_once_and_after_a_restart(office: Office) -> None:
    made = create(office, "inference", "upload", models=["rank*"], rate=RateLimit(5, 10))
    assert office.services.keys.authenticate(made.text) == made.card
    office.reopen()
    assert office.services.keys.authenticate(made.text) == made.card
    assert made.text not in repr(made)


def test_the_secret_is_nowhere_in_the_database(office: Office, tmp_path: Path) -> None:
    made = create(office)
    secret = made.text.split("_", 2)[2].encode()
    for file in tmp_path.glob("registry.db*"):
        assert secret not in file.read_bytes()


def test_a_revoked_key_is_refused_at_once_and_by_others_at_their_next_tick(office: Office) -> None:
    second = office.another()
    made = create(office)
    office.run(second.tick())
    revoked = office.run(office.services.keys.revoke(OPERATOR, made.card.key_id))
    assert revoked.revoked_ms == int(office.clock() * 1000)
    with pytest.raises(Unauthenticated):
        office.services.keys.authenticate(made.text)
    second.keys.authenticate(made.text)
    office.run(second.tick())
    with pytest.raises(Unauthenticated):
        second.keys.authenticate(made.text)
    office.run(second.close())


def test_a_key_expires_by_itself(office: Office) -> None:
    made = create(office, expires_ms=int((office.clock() + 60) * 1000))
    office.clock.advance(59.999)
    office.services.keys.authenticate(made.text)
    office.clock.advance(0.001)
    with pytest.raises(Unauthenticated):
        office.services.keys.authenticate(made.text)


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (KeyOrder("", ["admin"]), "name"),
        (KeyOrder("x" * 129, ["admin"]), "name"),
        (KeyOrder("a\0", ["admin"]), "name"),
        (KeyOrder("a", []), "permissions"),
        (KeyOrder("a", ["root"]), "permissions"),
        (KeyOrder("a", ["admin"], ["["]), "models"),
        (KeyOrder("a", ["admin"], expires_ms=1), "expires_ms"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    office: Office, order: KeyOrder, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        office.run(office.services.keys.create(OPERATOR, order))
    assert office.run(office.services.keys.list(OPERATOR)) == ()


@pytest.mark.parametrize("by", [CALLER, UPLOADER, WORKER], ids=lambda by: by.key_id)
def test_keys_are_for_administrators(office: Office, by: KeyCard) -> None:
    keys = office.services.keys
    for asked in (
        keys.create(by, KeyOrder("a", ["admin"])),
        keys.list(by),
        keys.revoke(by, "x"),
    ):
        with pytest.raises(PermissionDenied, match="'admin'"):
            office.run(asked)


def test_an_administrator_of_some_models_makes_keys_for_these_alone(office: Office) -> None:
    by = card("by", Permission.ADMIN, models=["rank*", "search"])
    keys = office.services.keys
    for models in (["rank*"], ["ranker"], ["search", "rank.2"]):
        office.run(keys.create(by, KeyOrder("a", ["inference"], models)))
    for models in ([], ["*"], ["r*"], ["ranke*"], ["search", "other"]):
        with pytest.raises(PermissionDenied, match=r"these models only: rank\*, search"):
            office.run(keys.create(by, KeyOrder("a", ["inference"], models)))


def test_an_empty_registry_gets_one_first_key(office: Office) -> None:
    first = office.run(office.services.keys.create_first())
    assert first is not None
    assert Permission.ADMIN in office.services.keys.authenticate(first.text).permissions
    assert office.run(office.services.keys.create_first()) is None


def test_a_key_the_operator_brings_is_taken_in_once_whatever_is_there(office: Office) -> None:
    brought = "ifk_0123456789ab_" + "x" * 43
    create(office, "inference")
    keys = office.services.keys
    made = office.run(keys.create_first(brought))
    assert made is not None
    assert Permission.ADMIN in keys.authenticate(brought).permissions
    assert office.run(keys.create_first(brought)) is None
    with pytest.raises(Unauthenticated):  # the same id with another secret
        office.run(keys.create_first(brought[:-1] + "y"))
    with pytest.raises(Unauthenticated, match="not an API key"):
        office.run(keys.create_first("secret"))


def test_the_last_administrator_is_not_locked_out(office: Office) -> None:
    first, second = create(office, "admin"), create(office, "admin")
    office.run(office.services.keys.revoke(OPERATOR, first.card.key_id))
    office.run(office.services.keys.revoke(OPERATOR, first.card.key_id))
    with pytest.raises(RegistryConflict, match="the last that can manage keys"):
        office.run(office.services.keys.revoke(OPERATOR, second.card.key_id))
    office.services.keys.authenticate(second.text)


def test_revoking_a_key_nobody_has_is_not_found(office: Office) -> None:
    with pytest.raises(NotFound, match="API key"):
        office.run(office.services.keys.revoke(OPERATOR, "nobody"))


def test_usage_is_counted_and_written_in_one_go(office: Office) -> None:
    made = create(office)
    key_id = made.card.key_id
    office.services.keys.count({key_id: 2})
    office.services.keys.count({key_id: 3, "unknown": 1})
    assert office.run(office.services.keys.list(OPERATOR)) == ((made.card, Usage()),)
    revision = office.run(office.services.storage.revision())
    office.run(office.services.keys.flush())
    used = Usage(5, int(office.clock() * 1000))
    assert office.run(office.services.keys.list(OPERATOR)) == ((made.card, used),)
    assert office.run(office.services.storage.revision()) == revision


def test_counts_that_could_not_be_written_are_written_later(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = create(office)
    office.services.keys.count({made.card.key_id: 2})

    def refuse(*_: object, **__: object) -> object:
        raise RegistryBusy("away")

    with monkeypatch.context() as broken:
        broken.setattr(office.services.keys._storage, "writing", refuse)
        with pytest.raises(RegistryBusy):
            office.run(office.services.keys.flush())
    office.services.keys.count({made.card.key_id: 1})
    office.run(office.services.keys.flush())
    ((_, usage),) = office.run(office.services.keys.list(OPERATOR))
    assert usage.requests == 3
