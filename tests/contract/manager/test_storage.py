"""What every database keeps, and how. A new backend joins in `conftest`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from inferflow.access import KeyCard, ModelPatterns, Permission, RateLimit, StoredKey
from inferflow.errors import RegistryConflict, RegistryFailed
from inferflow.serving.manager.storage import Storage, open_storage
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    FileInfo,
    Lease,
    Model,
    Part,
    SealedKey,
    Sighting,
    Stage,
    StageChange,
    Tensor,
    Upload,
    UploadFile,
    Usage,
    Version,
    WorkerRecord,
)

Scenario = Callable[[Storage], Awaitable[Any]]
Play = Callable[[Scenario], Any]


@pytest.fixture
def play(database_url: str) -> Play:
    """Runs a scenario on a storage that is closed afterwards."""

    def run(scenario: Scenario) -> Any:
        async def main() -> Any:
            storage = await open_storage(database_url)
            try:
                return await scenario(storage)
            finally:
                await storage.close()

        return asyncio.run(main())

    return run


def version(number: int = 1, model: str = "ranker", stage: Stage = Stage.DEV) -> Version:
    return Version(
        model=model,
        number=number,
        stage=stage,
        folder=f"{model}-{number}",
        digest="d" * 64,
        files=(FileInfo("model.onnx", 2**33, "a" * 64), FileInfo("w/1.bin", 7, "b" * 64)),
        inputs=(Tensor("x", "FP32", (-1, 4)),),
        outputs=(Tensor("y", "BYTES", (-1,)),),
        created_ms=1_700_000_000_123,
        created_by="k1",
        options={"batch": {"max": 32}, "ratio": 0.5},
        description="Ünïcode «text»\n",
        note="noted",
        history=(StageChange(None, stage, 5, "k1", "published"),),
    )


def upload(upload_id: str = "u1", number: int = 1) -> Upload:
    files = (UploadFile("model.onnx", 10, "a" * 64), UploadFile("b/w.bin", 5, "b" * 64))
    return Upload(upload_id, "ranker", number, files, 1, 2, "k1", {"a": 1}, "words")


def key(key_id: str, created_ms: int = 1, **changes: Any) -> StoredKey:
    card = KeyCard(
        key_id, "name", frozenset({Permission.INFERENCE}), ModelPatterns(), created_ms, "k0"
    )
    return StoredKey(replace(card, **changes), bytes(range(32)))


# --- transactions -----------------------------------------------------------------------------


def test_what_is_written_is_there_for_whoever_opens_the_database_next(
    play: Play,
) -> None:
    async def write(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.facts.set("colour", "red")

    async def read(storage: Storage) -> str | None:
        async with storage.reading() as tx:
            return await tx.facts.get("colour")

    play(write)
    assert play(read) == "red"


def test_leaving_by_an_exception_changes_nothing(play: Play) -> None:
    async def half_a_change(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version())
            await tx.facts.set("colour", "red")
            raise ZeroDivisionError

    async def scenario(storage: Storage) -> None:
        before = await storage.revision()
        with pytest.raises(ZeroDivisionError):
            await half_a_change(storage)
        async with storage.reading() as tx:
            assert await tx.models.all() == ()
            assert await tx.facts.get("colour") is None
        assert await storage.revision() == before

    play(scenario)


def test_the_revision_moves_with_every_write_that_is_not_quiet(
    play: Play,
) -> None:
    async def scenario(storage: Storage) -> None:
        before = await storage.revision()
        async with storage.writing() as tx:
            await tx.facts.set("a", "1")
        async with storage.writing(quietly=True) as tx:
            await tx.facts.set("a", "2")
        async with storage.reading() as tx:
            assert await tx.facts.get("a") == "2"
        assert await storage.revision() == before + 1

    play(scenario)


def test_one_writes_at_a_time_over_every_manager_on_the_database(database_url: str) -> None:
    """Read, give others every chance, then write what was read plus one: nothing is lost."""

    async def add_one(storage: Storage) -> None:
        async with storage.writing() as tx:
            count = int(await tx.facts.get("count") or 0)
            await asyncio.sleep(0)
            await tx.facts.set("count", str(count + 1))

    async def main() -> str | None:
        managers = [await open_storage(database_url) for _ in range(3)]
        try:
            await asyncio.gather(*(add_one(manager) for manager in managers for _ in range(8)))
            async with managers[0].reading() as tx:
                return await tx.facts.get("count")
        finally:
            for manager in managers:
                await manager.close()

    assert asyncio.run(main()) == "24"


def test_a_reader_sees_one_moment_while_others_write(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.reading() as tx:
            assert await tx.models.all() == ()
            async with storage.writing() as other:
                await other.models.add_version(version())
            assert await tx.models.all() == ()
        async with storage.reading() as tx:
            assert len(await tx.models.all()) == 1

    play(scenario)


# --- the schema ---------------------------------------------------------------------------------


def test_managers_that_start_together_make_one_schema(database_url: str) -> None:
    async def main() -> list[int]:
        opened = await asyncio.gather(*(open_storage(database_url) for _ in range(4)))
        try:
            return [await storage.revision() for storage in opened]
        finally:
            for storage in opened:
                await storage.close()

    assert asyncio.run(main()) == [0, 0, 0, 0]


def test_the_migrations_lead_to_the_tables_the_code_uses(play: Play) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from inferflow.serving.manager.storage.database import Database
    from inferflow.serving.manager.storage.sql.tables import metadata

    async def scenario(storage: Storage) -> Any:
        assert isinstance(storage, Database)
        async with storage._engine.connect() as connection:
            return await connection.run_sync(
                lambda plain: compare_metadata(MigrationContext.configure(plain), metadata)
            )

    assert play(scenario) == []


def test_a_schema_from_the_future_is_left_alone(play: Play, database_url: str) -> None:
    from sqlalchemy import text

    from inferflow.serving.manager.storage.database import Database

    async def age(storage: Storage) -> None:
        assert isinstance(storage, Database)
        async with storage._engine.begin() as connection:
            await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    play(age)
    with pytest.raises(RegistryFailed, match=r"schema '9999'.*knows up to '0002'.*upgrade"):
        asyncio.run(open_storage(database_url))


# --- models -----------------------------------------------------------------------------------


def test_a_version_comes_back_as_it_went_in(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version())
        async with storage.reading() as tx:
            assert await tx.models.get("ranker") == Model("ranker", (version(),), {})
            assert await tx.models.get("other") is None
            assert await tx.models.folders() == {"ranker-1"}
            assert await tx.models.bytes_of("k1") == 2**33 + 7
            assert await tx.models.bytes_of("k2") == 0

    play(scenario)


def test_models_come_by_name_and_versions_by_number(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            for number, model in ((2, "b"), (10, "b"), (1, "b"), (1, "a")):
                await tx.models.add_version(version(number, model))
        async with storage.reading() as tx:
            found = [(m.name, [v.number for v in m.versions]) for m in await tx.models.all()]
            assert found == [("a", [1]), ("b", [1, 2, 10])]
            assert await tx.models.last_number("b") == 10
            assert await tx.models.last_number("c") == 0

    play(scenario)


def test_a_number_is_given_once_and_a_failed_try_leaves_the_transaction_usable(
    play: Play,
) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version())
            with pytest.raises(RegistryConflict, match="already has a version 1"):
                await tx.models.add_version(replace(version(), folder="elsewhere"))
            await tx.models.add_version(version(2))
        async with storage.reading() as tx:
            model = await tx.models.get("ranker")
            assert model is not None
            assert [v.number for v in model.versions] == [1, 2]

    play(scenario)


def test_the_database_itself_refuses_two_versions_in_production(
    play: Play,
) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version(1, stage=Stage.PRODUCTION))
            with pytest.raises(RegistryConflict, match="another in stage 'production'"):
                await tx.models.add_version(version(2, stage=Stage.PRODUCTION))

    play(scenario)


def test_stages_change_and_remember(play: Play) -> None:
    change = StageChange(Stage.DEV, Stage.STAGING, 9, "k2", "tested")

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version())
            await tx.models.move("ranker", 1, change)
            await tx.models.set_problem("ranker", 1, "corrupt")
        async with storage.reading() as tx:
            (found,) = await tx.models.in_stage(Stage.STAGING)
            assert (found.number, found.problem) == (1, "corrupt")
            assert await tx.models.in_stage(Stage.DEV) == ()
            model = await tx.models.get("ranker")
            assert model is not None
            assert model.versions[0].history == (*version().history, change)

    play(scenario)


def test_traffic_is_replaced_whole(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            for number in (1, 2, 3):
                await tx.models.add_version(version(number))
            await tx.models.set_traffic("ranker", {1: 90.0, 2: 10.0})
            await tx.models.set_traffic("ranker", {2: 0.1, 3: 99.9})
            model = await tx.models.get("ranker")
            assert model is not None
            assert model.traffic == {2: 0.1, 3: 99.9}
            await tx.models.set_traffic("ranker", {})
            model = await tx.models.get("ranker")
            assert model is not None
            assert model.traffic == {}

    play(scenario)


def test_a_deleted_version_leaves_nothing_but_its_number(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.models.add_version(version(4))
            await tx.models.set_traffic("ranker", {4: 100.0})
            await tx.models.delete_version("ranker", 4)
        async with storage.reading() as tx:
            assert await tx.models.get("ranker") is None
            assert await tx.models.all() == ()
            assert await tx.models.folders() == frozenset()
            assert await tx.models.last_number("ranker") == 4
        async with storage.writing() as tx:
            await tx.models.add_version(version(5))
            model = await tx.models.get("ranker")
            assert model is not None
            assert model.traffic == {}
            assert model.versions[0].history == version(5).history

    play(scenario)


# --- keys ---------------------------------------------------------------------------------------


def test_keys_come_back_as_they_went_in_oldest_first(play: Play) -> None:
    every = key(
        "b",
        1,
        permissions=frozenset(Permission),
        models=ModelPatterns(("rank*", "x")),
        expires_ms=2**42,
        revoked_ms=3,
        rate=RateLimit(0.5, 2),
    )
    plain = key("a", 2)

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.keys.add(plain)
            await tx.keys.add(every)
        async with storage.reading() as tx:
            assert await tx.keys.all() == (every, plain)

    play(scenario)


def test_a_key_is_revoked_once(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.keys.add(key("a"))
            assert await tx.keys.revoke("a", 10)
            assert await tx.keys.revoke("a", 20)
            assert not await tx.keys.revoke("b", 20)
        async with storage.reading() as tx:
            assert [kept.card.revoked_ms for kept in await tx.keys.all()] == [10]

    play(scenario)


def test_usage_adds_up_and_time_does_not_go_back(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.keys.add(key("a"))
            await tx.keys.add(key("b"))
            await tx.keys.add_usage({"a": 2**40, "unknown": 1}, 100)
            await tx.keys.add_usage({"a": 5}, 50)
        async with storage.reading() as tx:
            assert await tx.keys.usage() == {"a": Usage(2**40 + 5, 100), "b": Usage()}

    play(scenario)


# --- uploads ------------------------------------------------------------------------------------


def test_an_upload_remembers_how_far_it_has_come(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        parts = [Part("model.onnx", 0, 4, "p1"), Part("model.onnx", 4, 6, "p2")]
        async with storage.writing() as tx:
            await tx.uploads.add(upload())
            assert await tx.uploads.get("u1") == upload()
            for part in parts:
                await tx.uploads.add_part("u1", part)
            await tx.uploads.extend("u1", 77)
            await tx.uploads.claim("u1", 88)
        async with storage.reading() as tx:
            found = await tx.uploads.get("u1")
            assert found is not None
            assert [(f.path, f.received) for f in found.files] == [
                ("model.onnx", 10),
                ("b/w.bin", 0),
            ]
            assert [f.is_complete for f in found.files] == [True, False]
            assert (found.expires_ms, found.claimed_until_ms) == (77, 88)
            assert list(await tx.uploads.parts("u1")) == parts
            assert await tx.uploads.all() == (found,)

    play(scenario)


def test_an_ended_upload_takes_its_parts_along(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.uploads.add(upload())
            await tx.uploads.add_part("u1", Part("model.onnx", 0, 4, "p1"))
            await tx.uploads.delete("u1")
            assert await tx.uploads.get("u1") is None
            assert await tx.uploads.parts("u1") == ()
            await tx.uploads.add(upload())

    play(scenario)


def test_two_uploads_cannot_hold_one_number(play: Play) -> None:
    async def both(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.uploads.add(upload("u1"))
            await tx.uploads.add(upload("u2"))

    async def scenario(storage: Storage) -> None:
        with pytest.raises(RegistryFailed):
            await both(storage)
        async with storage.reading() as tx:
            assert await tx.uploads.all() == ()

    play(scenario)


# --- workers, signing keys, duties, audit -------------------------------------------------------


def test_a_worker_that_registers_again_is_one_worker(play: Play) -> None:
    first = WorkerRecord(
        "w1", "h:1", 1, 1, 4, 2**35, ({"kind": "cuda", "index": 0},), {"zone": "a"}, "1.0", True
    )
    again = WorkerRecord("w1", "h:2", 5, 5)

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.workers.save(first)
            assert await tx.workers.all() == (first,)
            await tx.workers.save(again)
            assert await tx.workers.all() == (again,)
            heard = Sighting(9, {"in_flight": 3})
            await tx.workers.seen({"w1": heard, "w2": heard})
            await tx.workers.seen({"w1": Sighting(7)})
            now = replace(again, last_seen_ms=9, report={"in_flight": 3})
            assert await tx.workers.all() == (now,)
            assert await tx.workers.set_draining("w1")
            assert not await tx.workers.set_draining("w2")
            assert await tx.workers.all() == (replace(now, draining=True),)
            await tx.workers.delete("w1")
            assert await tx.workers.all() == ()

    play(scenario)


def test_signing_keys_are_kept_and_their_times_can_change(play: Play) -> None:
    one, two = SealedKey("b", b"\0\xff", 1, 2, 3), SealedKey("a", b"x", 5, 6, 7)

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.signing.save(two)
            await tx.signing.save(one)
            assert await tx.signing.all() == (one, two)
            await tx.signing.save(replace(one, signs_until_ms=9))
            await tx.signing.delete("a")
            assert await tx.signing.all() == (replace(one, signs_until_ms=9),)

    play(scenario)


def test_revoked_tokens_are_listed_until_they_have_ended(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            await tx.signing.revoke_token("t1", 10)
            await tx.signing.revoke_token("t1", 10)
            await tx.signing.revoke_token("t2", 20)
            assert await tx.signing.revoked_tokens(9) == {"t1", "t2"}
            assert await tx.signing.revoked_tokens(10) == {"t2"}
            await tx.signing.forget_tokens(10)
            assert await tx.signing.revoked_tokens(0) == {"t2"}

    play(scenario)


def test_a_duty_has_one_holder_and_a_new_term_for_each(play: Play) -> None:
    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            take = tx.duties.take
            assert await take("tidy", "a", now_ms=0, until_ms=10) == Lease("tidy", "a", 10, 1)
            assert await take("tidy", "b", now_ms=9, until_ms=19) == Lease("tidy", "a", 10, 1)
            assert await take("tidy", "a", now_ms=9, until_ms=19) == Lease("tidy", "a", 19, 1)
            assert await take("tidy", "b", now_ms=19, until_ms=29) == Lease("tidy", "b", 29, 2)
            await tx.duties.release("tidy", "a")
            assert await take("tidy", "a", now_ms=20, until_ms=30) == Lease("tidy", "b", 29, 2)
            await tx.duties.release("tidy", "b")
            assert await take("tidy", "a", now_ms=21, until_ms=31) == Lease("tidy", "a", 31, 3)
            assert await take("tidy", "a", now_ms=40, until_ms=50) == Lease("tidy", "a", 50, 4)

    play(scenario)


def test_the_audit_log_is_read_newest_first(play: Play) -> None:
    entries = [AuditEntry(at, "k", "did", f"thing {at}", {"n": [at]}) for at in range(3)]

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            for entry in entries:
                await tx.audit.add(entry)
        async with storage.reading() as tx:
            assert list(await tx.audit.latest(2)) == [entries[2], entries[1]]

    play(scenario)


def test_the_audit_log_is_read_by_key_and_by_model(play: Play) -> None:
    first = AuditEntry(1, "k1", "did", "ranker@1", model="ranker")
    second = AuditEntry(2, "k2", "did", "search", model="search")
    third = AuditEntry(3, "k1", "did", "a worker")

    async def scenario(storage: Storage) -> None:
        async with storage.writing() as tx:
            for entry in (first, second, third):
                await tx.audit.add(entry)
        async with storage.reading() as tx:
            assert list(await tx.audit.latest(9, by="k1")) == [third, first]
            assert list(await tx.audit.latest(9, models=["ranker", "search"])) == [second, first]
            assert list(await tx.audit.latest(9, by="k2", models=["ranker"])) == []
            assert list(await tx.audit.latest(9, models=[])) == []
            assert await tx.audit.models() == {"ranker", "search"}

    play(scenario)
