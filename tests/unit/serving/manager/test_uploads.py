"""Bytes on their way in: announced, received, resumed, given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferflow.access import OPERATOR, Permission
from inferflow.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    RegistryBusy,
    RegistryConflict,
    RegistryFailed,
)
from inferflow.serving.manager.orders import UploadLimits, UploadOrder, check_order
from inferflow.serving.manager.receiving import Piece, receive
from inferflow.serving.manager.storage.records import FileInfo, Stage, Upload

from ....robustness.scenario import StartScenario
from .office import CALLER, UPLOADER, Office, card, info, order

OTHER = card("other", Permission.UPLOAD)


def begin(office: Office, asked: UploadOrder | None = None) -> Upload:
    return office.run(office.services.uploads.begin(UPLOADER, asked or order()))


def append(office: Office, upload: Upload, offset: int, data: bytes) -> Upload:
    adding = office.services.uploads.append(UPLOADER, upload.upload_id, "model.onnx", offset, data)
    return office.run(adding)


# --- announcing -------------------------------------------------------------------------------


def test_numbers_count_up_over_what_is_published_and_what_is_under_way(office: Office) -> None:
    assert office.publish().number == 1
    assert [begin(office, order(more=more)).number for more in (b"a", b"b")] == [2, 3]
    assert begin(office, order(number=10)).number == 10
    assert begin(office, order(more=b"c")).number == 11
    assert begin(office, order("other")).number == 1


def test_a_number_that_is_taken_or_was_is_refused(office: Office) -> None:
    office.publish()
    with pytest.raises(RegistryConflict, match="versions up to 1; the next must be higher"):
        begin(office, order(number=1))
    office.run(office.services.registry.delete_version(OPERATOR, "ranker", 1))
    with pytest.raises(RegistryConflict, match="versions up to 1"):
        begin(office, order(number=1))
    begin(office, order(number=2))
    with pytest.raises(RegistryConflict, match="version 2 is being uploaded already"):
        begin(office, order(number=2, more=b"x"))


def test_an_aborted_upload_gives_its_number_back(office: Office) -> None:
    begun = begin(office, order(number=7))
    office.run(office.services.uploads.abort(UPLOADER, begun.upload_id))
    assert begin(office, order(number=7)).number == 7


def test_an_expired_upload_holds_its_number_no_longer(office: Office) -> None:
    begin(office, order(number=7))
    office.clock.advance(86_400)
    assert begin(office, order(number=7)).number == 7


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model": "../x"}, "model"),
        ({"files": ()}, "1 to 64"),
        ({"files": (FileInfo("model.onnx", 1, "a" * 64),) * 65}, "1 to 64"),
        ({"files": (FileInfo("weights.bin", 1, "a" * 64),)}, "as 'model.onnx'"),
        ({"files": (FileInfo("model.onnx", 0, "a" * 64),)}, "as 'model.onnx'"),
        ({"files": (FileInfo("model.onnx", -1, "a" * 64),)}, "size"),
        ({"files": (FileInfo("model.onnx", 1, "A" * 64),)}, "sha256"),
        ({"files": (FileInfo("model.onnx", 1, ""),)}, "sha256"),
        ({"files": (FileInfo("model.onnx", 2**31 + 1, "a" * 64),)}, "at most 2147483648"),
        ({"files": (info("model.onnx", b"x"), info("../w", b"x"))}, "files"),
        ({"description": "x" * 4001}, "description"),
        ({"description": "\0"}, "control character"),
        ({"options": {"x": "y" * 20_000}}, "options"),
        ({"options": {"x": float("nan")}}, "options"),
        ({"options": {"x": {1, 2}}}, "options"),
        ({"options": {"x": "\ud800"}}, "options"),
        ({"options": {"x": "\0"}}, "options"),
        ({"number": 0}, "version"),
        ({"number": 10**18}, "version"),
    ],
)
def test_an_order_that_cannot_be_is_refused_before_the_first_byte(
    changes: dict[str, object], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        check_order(replace(order(), **changes), UploadLimits())  # type: ignore[arg-type]


def test_one_key_has_so_many_uploads_under_way(tmp_path: Path) -> None:
    office = Office(
        f"sqlite:///{tmp_path}/r.db", tmp_path / "f", limits=UploadLimits(open_per_key=1)
    )
    try:
        begun = begin(office)
        with pytest.raises(RegistryConflict, match="1 uploads under way"):
            begin(office, order("other"))
        office.run(office.services.uploads.begin(OTHER, order()))
        office.run(office.services.uploads.abort(UPLOADER, begun.upload_id))
        begin(office)
    finally:
        office.close()


def test_what_one_key_keeps_has_a_limit(tmp_path: Path) -> None:
    limits = UploadLimits(key_bytes=20, part_bytes=4)
    office = Office(f"sqlite:///{tmp_path}/r.db", tmp_path / "f", limits=limits)
    try:
        begun = office.upload(order())
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
        begin(office)
        with pytest.raises(RegistryConflict, match="14 of its 20 bytes taken; 7 more"):
            begin(office, order("other"))
    finally:
        office.close()


# --- who --------------------------------------------------------------------------------------


def test_uploading_needs_the_permission_and_the_model(office: Office) -> None:
    uploads = office.services.uploads
    with pytest.raises(PermissionDenied, match="'upload'"):
        office.run(uploads.begin(CALLER, order()))
    narrow = card("narrow", Permission.UPLOAD, models=["rank*"])
    office.run(uploads.begin(narrow, order("ranker")))
    with pytest.raises(PermissionDenied, match="'embedder'"):
        office.run(uploads.begin(narrow, order("embedder")))


def test_an_upload_of_somebody_else_is_not_there(office: Office) -> None:
    begun, uploads = begin(office), office.services.uploads
    with pytest.raises(NotFound):
        office.run(uploads.status(OTHER, begun.upload_id))
    with pytest.raises(NotFound):
        office.run(uploads.append(OTHER, begun.upload_id, "model.onnx", 0, b"x"))
    with pytest.raises(NotFound):
        office.run(uploads.abort(OTHER, begun.upload_id))
    with pytest.raises(NotFound):
        office.run(office.services.publishing.finish(OTHER, begun.upload_id))
    assert office.run(uploads.status(OPERATOR, begun.upload_id)) == begun


# --- receiving --------------------------------------------------------------------------------


def test_an_upload_goes_on_where_it_was_after_a_restart(office: Office) -> None:
    begun = begin(office)
    append(office, begun, 0, b"a mo")
    office.reopen()
    found = office.run(office.services.uploads.status(UPLOADER, begun.upload_id))
    assert found.files[0].received == 4
    append(office, begun, 4, b"del")
    version = office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert version.number == 1
    assert office.checks.seen == [{"model.onnx": b"a model"}]


def test_another_manager_takes_the_next_bytes(office: Office) -> None:
    begun = begin(office)
    append(office, begun, 0, b"a mo")
    second = office.another()
    office.run(second.uploads.append(UPLOADER, begun.upload_id, "model.onnx", 4, b"del"))
    office.run(second.storage.close())
    office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert office.checks.seen == [{"model.onnx": b"a model"}]


def test_bytes_sent_twice_are_taken_once(office: Office) -> None:
    begun = begin(office)
    append(office, begun, 0, b"a mo")
    assert append(office, begun, 0, b"a mo").files[0].received == 4
    assert append(office, begun, 2, b"mode").files[0].received == 6
    append(office, begun, 6, b"l")
    office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert office.checks.seen == [{"model.onnx": b"a model"}]


def test_a_hole_is_refused_and_says_where_to_go_on(office: Office) -> None:
    begun = begin(office)
    append(office, begun, 0, b"a")
    with pytest.raises(RegistryConflict, match="1 bytes are here; go on from there, not at 3"):
        append(office, begun, 3, b"x")
    with pytest.raises(RegistryConflict, match="not at -1"):
        append(office, begun, -1, b"x")


def test_more_than_was_announced_is_refused(office: Office) -> None:
    begun = begin(office)
    append(office, begun, 0, b"a mo")
    with pytest.raises(InvalidInput, match="more bytes than the 7"):
        append(office, begun, 4, b"dels")
    with pytest.raises(InvalidInput, match="at most 4 at once"):
        append(office, begun, 0, b"a mod")


def test_a_file_nobody_announced_is_refused(office: Office) -> None:
    begun, uploads = begin(office), office.services.uploads
    with pytest.raises(InvalidInput, match="no file of this upload"):
        office.run(uploads.append(UPLOADER, begun.upload_id, "../x", 0, b"x"))


def test_two_senders_at_once_leave_a_file_of_one_of_them(office: Office) -> None:
    begun, uploads = begin(office), office.services.uploads

    async def both() -> list[Upload | BaseException]:
        sending = (
            uploads.append(UPLOADER, begun.upload_id, "model.onnx", 0, data)
            for data in (b"aaaa", b"bb")
        )
        return await asyncio.gather(*sending, return_exceptions=True)

    ended = office.run(both())
    assert sum(isinstance(one, RegistryConflict) for one in ended) == 1
    received = office.run(uploads.status(UPLOADER, begun.upload_id)).files[0].received
    assert received in (2, 4)


def test_an_upload_nobody_adds_to_expires_and_one_in_use_does_not(office: Office) -> None:
    begun = begin(office)
    office.clock.advance(86_000)
    append(office, begun, 0, b"a")
    office.clock.advance(86_000)
    append(office, begun, 1, b" ")
    office.clock.advance(86_400)
    with pytest.raises(NotFound):
        append(office, begun, 2, b"m")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary(min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=6),
)
def test_however_bytes_are_sent_and_sent_again_the_file_is_whole(
    office: Office, data: bytes, sends: list[tuple[int, int]]
) -> None:
    """Each send goes back a little and then so far; what is missing in the end follows."""
    begun = begin(office, UploadOrder("ranker", (info("model.onnx", data),)))
    reached = 0
    for back, length in (*sends, (0, 4), (0, 4), (0, 4)):
        start = max(0, reached - back)
        begun = append(office, begun, start, data[start : start + length])
        reached = max(reached, min(start + length, len(data)))
        assert begun.files[0].received == reached
    office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert office.checks.seen[-1] == {"model.onnx": data}


def test_a_stream_of_small_pieces_becomes_parts(office: Office) -> None:
    asked = order(w=b"weights!")
    begun = begin(office, asked)

    async def pieces() -> AsyncIterator[Piece]:
        yield Piece(b"a", "model.onnx", 0)
        for letter in b" model":
            yield Piece(bytes([letter]))
        yield Piece(b"weights", "w.bin", 0)
        yield Piece(b"!")

    done = office.run(receive(office.services.uploads, UPLOADER, begun.upload_id, pieces()))
    assert all(file.is_complete for file in done.files)
    office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert office.checks.seen == [{"model.onnx": b"a model", "w.bin": b"weights!"}]


def test_a_stream_that_does_not_say_which_file_is_refused(office: Office) -> None:
    begun = begin(office)

    async def pieces() -> AsyncIterator[Piece]:
        yield Piece(b"a")

    with pytest.raises(InvalidInput, match="which file"):
        office.run(receive(office.services.uploads, UPLOADER, begun.upload_id, pieces()))


# --- publishing -------------------------------------------------------------------------------


def test_nothing_is_visible_before_the_checks_have_passed(office: Office) -> None:
    begun = office.upload(order())
    assert office.services.registry.models(OPERATOR) == ()
    version = office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    (model,) = office.services.registry.models(OPERATOR)
    assert model.versions == (version,)
    assert version.stage is Stage.DEV
    assert version.inputs[0].name == "x"
    assert version.created_by == "uploader"
    assert [change.to_stage for change in version.history] == [Stage.DEV]


def test_files_on_disk_have_names_made_by_the_manager(
    office: Office, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("H1", "an upload of two files")
    begun = office.upload(order(w=b"weights!"), w=b"weights!")
    version = office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    home = tmp_path / "files"
    found = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
    ours = {f"models/{version.folder}/0", f"models/{version.folder}/1"}
    tried.none("file with another's name, or elsewhere", set(found) - ours, of=len(found))
    assert set(found) == ours
    assert (home / found[1]).read_bytes() == b"weights!"


def test_an_incomplete_upload_is_not_finished(office: Office) -> None:
    begun = begin(office)
    with pytest.raises(RegistryConflict, match=r"not complete: model\.onnx"):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    append(office, begun, 0, b"a")


def test_bytes_that_are_not_what_was_announced_are_refused(
    office: Office, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("H5", "an upload of other bytes than announced")
    begun = begin(office)
    append(office, begun, 0, b"b mo")
    append(office, begun, 4, b"del")
    with pytest.raises(InvalidInput, match=r"model\.onnx: its bytes have the checksum"):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert office.checks.seen == []
    assert office.services.registry.models(OPERATOR) == ()
    left = [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
    tried.none("file is left of it", left)
    with pytest.raises(NotFound):
        office.run(office.services.uploads.status(UPLOADER, begun.upload_id))


def test_a_refused_model_leaves_nothing_but_a_note_of_it(office: Office, tmp_path: Path) -> None:
    begun = office.upload(order())
    office.checks.refuses = "it is a pickle"
    from inferflow.errors import ModelUnreadable

    with pytest.raises(ModelUnreadable, match="it is a pickle"):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert [path for path in (tmp_path / "files").rglob("*") if path.is_file()] == []
    assert begin(office).number == 1

    async def latest() -> str:
        async with office.services.storage.reading() as tx:
            (entry,) = await tx.audit.latest(1)
            return f"{entry.by}: {entry.action} {entry.subject}"

    assert office.run(latest()) == "uploader: upload refused ranker@1"


@pytest.mark.parametrize(
    "failure",
    [RegistryFailed("the disk is full"), OSError("no room"), asyncio.CancelledError()],
    ids=lambda failure: type(failure).__name__,
)
def test_when_the_manager_fails_or_gives_up_the_upload_can_be_finished_later(
    office: Office, tmp_path: Path, failure: BaseException
) -> None:
    begun = office.upload(order())
    office.checks.fails = failure
    told = RegistryFailed if isinstance(failure, OSError) else type(failure)
    with pytest.raises(told):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    assert list((tmp_path / "files").glob("models/*/*")) == []
    office.checks.fails = None
    assert office.run(office.services.publishing.finish(UPLOADER, begun.upload_id)).number == 1


def test_an_upload_under_check_is_left_alone_until_the_claim_runs_out(office: Office) -> None:
    begun = office.upload(order())

    async def claim() -> None:
        async with office.services.storage.writing(quietly=True) as tx:
            await tx.uploads.claim(begun.upload_id, int((office.clock() + 900) * 1000))

    office.run(claim())
    with pytest.raises(RegistryBusy, match="being checked already"):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    with pytest.raises(RegistryBusy, match="being checked"):
        office.run(office.services.uploads.abort(UPLOADER, begun.upload_id))
    office.clock.advance(900)
    office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))


def test_finishing_twice_at_once_publishes_once(office: Office) -> None:
    begun = office.upload(order())
    finish = office.services.publishing.finish

    async def both() -> list[object]:
        return await asyncio.gather(
            finish(UPLOADER, begun.upload_id),
            finish(UPLOADER, begun.upload_id),
            return_exceptions=True,
        )

    ended = office.run(both())
    assert sum(isinstance(one, RegistryBusy | NotFound) for one in ended) == 1
    assert len(office.services.registry.model(OPERATOR, "ranker").versions) == 1


def test_publishing_beyond_dev_is_for_administrators(office: Office) -> None:
    begun = office.upload(order())
    with pytest.raises(PermissionDenied, match="'admin'"):
        office.run(office.services.publishing.finish(UPLOADER, begun.upload_id, Stage.PRODUCTION))
    version = office.run(
        office.services.publishing.finish(OPERATOR, begun.upload_id, Stage.PRODUCTION)
    )
    assert [change.to_stage for change in version.history] == [Stage.DEV, Stage.PRODUCTION]


def test_a_digest_is_what_the_same_files_have_in_a_folder(office: Office, tmp_path: Path) -> None:
    from inferflow.serving.runtime.repository import ModelRepository

    begun = office.upload(order(w=b"weights!"), w=b"weights!")
    version = office.run(office.services.publishing.finish(UPLOADER, begun.upload_id))
    home = tmp_path / "models" / "ranker" / "1"
    home.mkdir(parents=True)
    (home / "model.onnx").write_bytes(b"a model")
    (home / "w.bin").write_bytes(b"weights!")
    assert ModelRepository(tmp_path / "models").find("ranker").digest == version.digest
