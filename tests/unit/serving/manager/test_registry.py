"""Models as a service, and the housekeeping around them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inferflow.access import OPERATOR, KeyCard, Permission
from inferflow.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    RegistryBusy,
    RegistryConflict,
    RegistryFailed,
)
from inferflow.serving.manager.files import open_files
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.storage.records import Stage

from .office import CALLER, UPLOADER, WORKER, Office, card, order


def promote(office: Office, number: int, to: Stage, **more: object) -> None:
    office.run(office.services.registry.promote(OPERATOR, "ranker", number, to, **more))  # type: ignore[arg-type]


def audit(office: Office) -> list[str]:
    async def read() -> list[str]:
        async with office.services.storage.reading() as tx:
            return [f"{entry.action} {entry.subject}" for entry in await tx.audit.latest(100)]

    return office.run(read())[::-1]


def test_a_new_version_takes_over_and_the_old_one_can_come_back(office: Office) -> None:
    office.publish(stage=Stage.PRODUCTION)
    office.publish()
    promote(office, 2, Stage.STAGING, reason="looks good")
    office.clock.advance(60)
    promote(office, 2, Stage.PRODUCTION, expected=Stage.STAGING, reason="is good")
    first, second = office.services.registry.model(OPERATOR, "ranker").versions
    assert (first.stage, second.stage) == (Stage.ARCHIVED, Stage.PRODUCTION)
    assert [(c.to_stage, c.reason, c.by) for c in first.history[1:]] == [
        (Stage.PRODUCTION, "published", "operator"),
        (Stage.ARCHIVED, "replaced by version 2", "operator"),
    ]
    assert second.history[-1].at_ms == int(office.clock() * 1000)
    promote(office, 1, Stage.PRODUCTION, reason="rollback")
    assert office.services.registry.choices(OPERATOR, "ranker") == {1: 100}


def test_a_canary_gets_its_share_until_it_takes_over(office: Office) -> None:
    office.publish(stage=Stage.PRODUCTION)
    office.publish(stage=Stage.STAGING)
    registry = office.services.registry
    office.run(registry.set_traffic(OPERATOR, "ranker", {1: 95, 2: 5}))
    assert registry.choices(OPERATOR, "ranker") == {1: 95, 2: 5}
    promote(office, 2, Stage.PRODUCTION)
    assert registry.choices(OPERATOR, "ranker") == {2: 100}
    assert registry.model(OPERATOR, "ranker").traffic == {}


def test_a_refused_change_changes_nothing(office: Office) -> None:
    office.publish(stage=Stage.PRODUCTION)
    before = office.services.registry.model(OPERATOR, "ranker")
    with pytest.raises(RegistryConflict):
        promote(office, 1, Stage.ARCHIVED, expected=Stage.DEV)
    with pytest.raises(InvalidInput):
        office.run(office.services.registry.set_traffic(OPERATOR, "ranker", {1: 99}))
    with pytest.raises(RegistryConflict):
        office.run(office.services.registry.delete_version(OPERATOR, "ranker", 1))
    office.reopen()
    assert office.services.registry.model(OPERATOR, "ranker") == before


def test_a_restart_forgets_nothing(office: Office) -> None:
    office.publish(stage=Stage.PRODUCTION)
    office.publish(stage=Stage.STAGING)
    office.run(office.services.registry.set_traffic(OPERATOR, "ranker", {1: 95, 2: 5}))
    before = office.services.registry.models(OPERATOR)
    office.reopen()
    assert office.services.registry.models(OPERATOR) == before


def test_what_one_manager_changes_another_sees_at_its_next_tick(office: Office) -> None:
    second = office.another()
    office.publish(stage=Stage.PRODUCTION)
    assert second.registry.models(OPERATOR) == ()
    office.run(second.tick())
    assert second.registry.models(OPERATOR) == office.services.registry.models(OPERATOR)
    office.run(second.close())


def test_a_deleted_version_is_gone_with_its_files(office: Office, tmp_path: Path) -> None:
    office.publish()
    office.publish()
    office.run(office.services.registry.delete_version(OPERATOR, "ranker", 1))
    model = office.services.registry.model(OPERATOR, "ranker")
    assert [version.number for version in model.versions] == [2]
    files = [path for path in (tmp_path / "files" / "models").rglob("*") if path.is_file()]
    assert len(files) == 1
    office.run(office.services.registry.delete_version(OPERATOR, "ranker", 2))
    with pytest.raises(NotFound):
        office.services.registry.model(OPERATOR, "ranker")


def test_a_name_that_is_nearly_right_is_told(office: Office) -> None:
    office.publish("ranker")
    with pytest.raises(NotFound, match="did you mean 'ranker'"):
        office.services.registry.model(OPERATOR, "rankr")
    blind = card("blind", Permission.INFERENCE, models=["rankr*"])
    with pytest.raises(NotFound) as told:
        office.services.registry.model(blind, "rankr")
    assert "ranker" not in str(told.value)


def test_a_key_sees_the_models_it_is_for(office: Office) -> None:
    office.publish("ranker")
    office.publish("embedder")
    narrow = card("narrow", Permission.INFERENCE, models=["rank*"])
    assert [model.name for model in office.services.registry.models(narrow)] == ["ranker"]
    with pytest.raises(PermissionDenied, match="'embedder'"):
        office.services.registry.model(narrow, "embedder")


@pytest.mark.parametrize("by", [CALLER, UPLOADER, WORKER], ids=lambda by: by.key_id)
def test_changing_models_is_for_administrators(office: Office, by: KeyCard) -> None:
    office.publish()
    registry = office.services.registry
    for change in (
        registry.promote(by, "ranker", 1, Stage.PRODUCTION),
        registry.set_traffic(by, "ranker", {}),
        registry.delete_version(by, "ranker", 1),
    ):
        with pytest.raises(PermissionDenied, match="'admin'"):
            office.run(change)


def test_an_administrator_of_some_models_leaves_others_alone(office: Office) -> None:
    office.publish("embedder")
    narrow = card("narrow", Permission.ADMIN, models=["rank*"])
    with pytest.raises(PermissionDenied, match="'embedder'"):
        office.run(office.services.registry.promote(narrow, "embedder", 1, Stage.STAGING))


def test_workers_read_files_from_any_offset(office: Office) -> None:
    office.publish()

    async def read(by: KeyCard, path: str, offset: int) -> bytes:
        pieces = office.services.registry.read_file(by, "ranker", 1, path, offset=offset)
        return b"".join([piece async for piece in pieces])

    assert office.run(read(WORKER, "model.onnx", 0)) == b"a model"
    assert office.run(read(WORKER, "model.onnx", 2)) == b"model"
    with pytest.raises(NotFound):
        office.run(read(WORKER, "../registry.db", 0))
    with pytest.raises(PermissionDenied, match="'worker'"):
        office.run(read(CALLER, "model.onnx", 0))


def test_a_reported_problem_is_shown_and_keeps_a_version_out_of_production(office: Office) -> None:
    office.publish()
    registry = office.services.registry
    office.run(registry.report_problem(WORKER, "ranker", 1, "its bytes changed"))
    office.run(registry.report_problem(WORKER, "ranker", 1, "its bytes changed"))
    assert registry.model(OPERATOR, "ranker").versions[0].problem == "its bytes changed"
    with pytest.raises(RegistryConflict, match="its bytes changed"):
        promote(office, 1, Stage.PRODUCTION)
    office.run(registry.report_problem(WORKER, "ranker", 1, ""))
    promote(office, 1, Stage.PRODUCTION)
    assert audit(office).count("problem reported ranker@1") == 1


def test_who_did_what_is_on_record(office: Office) -> None:
    office.publish(stage=Stage.PRODUCTION)
    office.publish()
    office.run(office.services.registry.delete_version(OPERATOR, "ranker", 2))
    assert audit(office) == [
        "version published ranker@1",
        "stage changed ranker@1",
        "version published ranker@2",
        "version deleted ranker@2",
    ]


def test_a_manager_without_its_database_answers_from_what_it_knows(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.publish(stage=Stage.PRODUCTION)
    made = office.run(office.services.keys.create(OPERATOR, KeyOrder("caller", ["inference"])))

    async def away(*_: object) -> int:
        raise RegistryBusy("away")

    with monkeypatch.context() as broken:
        broken.setattr(office.services.storage, "revision", away)
        with pytest.raises(RegistryBusy):
            office.run(office.services.tick())
        by = office.services.keys.authenticate(made.text)
        assert office.services.registry.choices(by, "ranker") == {1: 100}
        session = office.services.sessions.issue(by, model="ranker", version="1", workers=["w"])
        assert office.services.sessions.refresh(by, session.token).model == "ranker"
    office.run(office.services.tick())


# --- files and housekeeping -------------------------------------------------------------------


def test_a_missing_file_is_the_stores_failure(office: Office, tmp_path: Path) -> None:
    version = office.publish()
    (tmp_path / "files" / "models" / version.folder / "0").unlink()

    async def read() -> None:
        async for _ in office.services.registry.read_file(WORKER, "ranker", 1, "model.onnx"):
            pass

    with pytest.raises(RegistryFailed, match="did not read"):
        office.run(read())


def test_objects_are_written_once(office: Office) -> None:
    office.run(office.services.files.write("models/f/0", b"one"))
    with pytest.raises(RegistryFailed, match="did not write"):
        office.run(office.services.files.write("models/f/0", b"two"))


def test_a_large_file_goes_in_pieces_and_comes_back_whole(office: Office, tmp_path: Path) -> None:
    data = os.urandom(9 << 20)
    (tmp_path / "large").write_bytes(data)
    files = office.services.files

    async def both_ways() -> bytes:
        await files.write_file("models/f/0", tmp_path / "large")
        return b"".join([piece async for piece in files.read("models/f/0", offset=1)])

    assert office.run(both_ways()) == data[1:]


def test_a_store_that_cannot_be_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryFailed, match=str(tmp_path)):
        open_files(tmp_path / "file" / "below")
    with pytest.raises(InvalidInput, match="gopher"):
        open_files("gopher://x/y")


def test_housekeeping_ends_what_expired_and_drops_what_nobody_knows(
    office: Office, tmp_path: Path
) -> None:
    version = office.publish()
    office.upload(order())
    office.run(office.services.files.write("models/orphan/0", b"x"))
    office.run(office.services.files.write("parts/orphan/0", b"x"))
    home = tmp_path / "files"

    def folders() -> set[str]:
        return {path.parent.name for path in home.rglob("*") if path.is_file()}

    written = max(path.stat().st_mtime for path in home.rglob("*"))
    office.clock.now = written + 60
    office.run(office.services.tidy())
    assert "orphan" in folders()
    office.clock.advance(7 * 3600)
    office.run(office.services.tidy())
    assert "orphan" not in folders()
    office.clock.advance(10 * 365 * 86_400)
    office.run(office.services.tidy())
    assert folders() == {version.folder}
