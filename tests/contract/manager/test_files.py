"""What every model store does: a folder, memory, and an object store that speaks S3."""

from __future__ import annotations

import asyncio
import os
import uuid
from pathlib import Path

import pytest

from inferflow.errors import RegistryFailed
from inferflow.serving.manager.files import ModelFiles, file_name, open_files, part_name

from ...servers.s3 import s3_endpoint  # noqa: F401


@pytest.fixture(params=["folder", "memory", "s3"])
def files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModelFiles:
    if request.param == "folder":
        return open_files(tmp_path / "files")
    if request.param == "memory":
        return open_files("memory:///")
    monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_endpoint"))
    for name, value in {
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return open_files(f"s3://models/{uuid.uuid4()}")


async def read(files: ModelFiles, name: str, offset: int = 0) -> bytes:
    return b"".join([piece async for piece in files.read(name, offset=offset)])


def test_bytes_come_back_from_any_offset(files: ModelFiles) -> None:
    async def scenario() -> None:
        await files.write(file_name("f", 0), b"a model")
        assert await read(files, file_name("f", 0)) == b"a model"
        assert await read(files, file_name("f", 0), 2) == b"model"

    asyncio.run(scenario())


def test_what_is_there_is_never_overwritten(files: ModelFiles) -> None:
    async def scenario() -> None:
        await files.write(file_name("f", 0), b"one")
        with pytest.raises(RegistryFailed, match="did not write 'models/f/0'"):
            await files.write(file_name("f", 0), b"two")
        assert await read(files, file_name("f", 0)) == b"one"

    asyncio.run(scenario())


def test_a_file_larger_than_one_piece_arrives_whole(files: ModelFiles, tmp_path: Path) -> None:
    data = os.urandom((9 << 20) + 1)
    (tmp_path / "large").write_bytes(data)

    async def scenario() -> None:
        await files.write_file(file_name("f", 0), tmp_path / "large")
        assert await read(files, file_name("f", 0)) == data

    asyncio.run(scenario())


def test_what_is_not_there_cannot_be_read(files: ModelFiles) -> None:
    with pytest.raises(RegistryFailed, match="did not read 'models/f/9'"):
        asyncio.run(read(files, file_name("f", 9)))


def test_a_folder_is_deleted_whole_and_alone(files: ModelFiles) -> None:
    async def scenario() -> None:
        for name in (part_name("u", "1"), part_name("u", "2"), part_name("u2", "1")):
            await files.write(name, b"x")
        assert set(await files.folders("parts")) == {"u", "u2"}
        await files.delete_folder("parts/u")
        await files.delete_folder("parts/u")
        assert set(await files.folders("parts")) == {"u2"}
        assert await files.folders("models") == {}

    asyncio.run(scenario())
