"""A backup that is not as it was written is refused, and leaves nothing behind."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferflow.app.backup import restore_backup
from inferflow.errors import InvalidInput

from ....robustness.scenario import StartScenario
from .conftest import Take


@pytest.fixture
def archive(take: Take) -> Path:
    return take().file


def refused(archive: Path, data: bytes) -> str:
    """What is said of an archive of these bytes; nothing may be left of the attempt."""
    broken = archive.with_name("broken.tar.gz")
    broken.write_bytes(data)
    before = sorted(archive.parent.iterdir())
    with pytest.raises(InvalidInput) as wrong:
        restore_backup(broken, archive.parent / "copy")
    assert sorted(archive.parent.iterdir()) == before
    return str(wrong.value)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_byte_of_any_file_is_found(
    archive: Path, scenario: StartScenario, data: st.DataObject
) -> None:
    tried = scenario("K6", "a bit flipped anywhere in a backup")
    plain = bytearray(gzip.decompress(archive.read_bytes()))
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        members = [member for member in tar if member.size and member.name != "manifest.json"]
    member = data.draw(st.sampled_from(members))
    place = member.offset_data + data.draw(st.integers(0, member.size - 1))
    plain[place] ^= 1 << data.draw(st.integers(0, 7))
    told = refused(archive, gzip.compress(bytes(plain), 1))
    tried.holds("refused, with the file", "refused", member.name in told)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 0.999))
def test_an_archive_that_was_cut_off_is_refused(archive: Path, share: float) -> None:
    whole = archive.read_bytes()
    refused(archive, whole[: int(len(whole) * share)])


def packed(*members: tarfile.TarInfo, content: bytes = b"x") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["../evil", "/evil", "project/../../evil", "state/../../evil", "other/x", "project\\x"]
)
def test_a_member_that_would_go_elsewhere_is_refused(archive: Path, name: str) -> None:
    assert "not a backup" in refused(archive, packed(tarfile.TarInfo(name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_only_plain_files_are_unpacked(archive: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("project/link")
    member.type, member.linkname = kind, "/etc/passwd"
    assert "project/link" in refused(archive, packed(member))


def test_a_newer_form_asks_for_an_upgrade(archive: Path) -> None:
    text = json.dumps({"format": 99, "made_by": "9.9", "made_ms": 0, "files": {}}).encode()
    said = refused(archive, packed(tarfile.TarInfo("manifest.json"), content=text))
    assert "9.9" in said
    assert "upgrade" in said


def test_something_else_is_no_backup(archive: Path) -> None:
    assert "not a backup" in refused(archive, b"hello")
    with pytest.raises(InvalidInput, match="no such file"):
        restore_backup(archive.with_name("none"), archive.parent / "copy")
