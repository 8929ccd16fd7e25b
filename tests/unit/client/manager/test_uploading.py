"""Uploads that go on where they were cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from inferflow.client.manager.calls import declared
from inferflow.client.manager.uploading import PIECE_BYTES, files_at, upload
from inferflow.errors import InvalidInput, NotFound, RegistryConflict, Unreachable

AWAY = Unreachable("manager:1", 1, "gone")


class Registry:
    """Receives pieces, and goes away when it is told to."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.sizes: dict[str, int] = {}
        self.takes: list[int | None] = []
        """After how many pieces each stream breaks off; None for never."""
        self.finishes: list[Exception | None] = []
        self.published = False

    def ask(self, method: str, request: Any, answer: str, **_: Any) -> Any:
        if method == "Registry/BeginUpload":
            self.sizes = {file.path: file.size for file in request.files}
            for path in self.sizes:
                self.files.setdefault(path, bytearray())
        elif method == "Registry/FinishUpload":
            failed = self.finishes.pop(0) if self.finishes else None
            if failed is not None:
                raise failed
            return declared(answer)(model="m", version="7")
        elif method == "Registry/GetModel":
            versions = [{"version": "7"}] if self.published else []
            return declared(answer)(name="m", versions=versions)
        return self.status()

    def send(self, _: str, requests: Callable[[], Iterable[Any]], __: str) -> Any:
        breaks_after = self.takes.pop(0) if self.takes else None
        path = ""
        for count, piece in enumerate(requests()):
            if count == breaks_after:
                raise AWAY
            if piece.path:
                path = piece.path
                assert piece.offset == len(self.files[path])
            self.files[path] += piece.data
        return self.status()

    def status(self) -> Any:
        made = declared("UploadStatus")(upload_id="u", model="m", version="7")
        for path, size in self.sizes.items():
            made.files.add(path=path, size=size, received=len(self.files[path]))
        return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(b"m" * (3 * PIECE_BYTES + 5))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "weights.bin").write_bytes(b"w" * 10)
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def send(registry: Registry, folder: Path, waits: list[float] | None = None, **facts: Any) -> Any:
    return upload(
        registry,  # type: ignore[arg-type]
        "m",
        files_at(folder),
        version="",
        stage="",
        options={},
        description="",
        progress=facts.get("progress"),
        wait=(waits if waits is not None else []).append,
    )


def check(registry: Registry, folder: Path) -> None:
    assert {path: bytes(data) for path, data in registry.files.items()} == {
        path: file.read_bytes() for path, file in files_at(folder).items()
    }


def test_every_file_arrives_whole_and_progress_is_told(folder: Path) -> None:
    registry, told = Registry(), []
    made = send(registry, folder, progress=lambda *facts: told.append(facts))
    assert made.version == "7"
    check(registry, folder)
    size = 3 * PIECE_BYTES + 5
    assert told[-1] == ("model.onnx", size, size)
    assert ("deep/weights.bin", 10, 10) in told


def test_a_stream_that_breaks_off_goes_on_where_it_ended(folder: Path) -> None:
    registry, waits = Registry(), []
    registry.takes = [2, 0, 1]
    send(registry, folder, waits)
    check(registry, folder)
    assert len(waits) == 3


def test_an_upload_begun_before_is_gone_on_with(folder: Path) -> None:
    registry = Registry()
    registry.files["model.onnx"] = bytearray(b"m" * PIECE_BYTES)
    told: list[int] = []
    send(registry, folder, progress=lambda _, done, __: told.append(done))
    check(registry, folder)
    assert PIECE_BYTES not in told  # the first piece is not sent again


def test_who_never_answers_is_given_up_after_a_while(folder: Path) -> None:
    registry, waits = Registry(), []
    registry.takes = [0] * 50
    with pytest.raises(Unreachable):
        send(registry, folder, waits)
    assert 5 < len(waits) < 20
    assert waits == sorted(waits) or max(waits) <= 5.0


def test_a_manager_that_went_away_while_checking_is_asked_again(folder: Path) -> None:
    registry = Registry()
    registry.finishes = [AWAY, AWAY]
    assert send(registry, folder).version == "7"
    registry.finishes = [AWAY, NotFound("upload", "u")]
    registry.published = True
    assert send(registry, folder).version == "7"  # it had been made before
    registry.finishes, registry.published = [AWAY, NotFound("upload", "u")], False
    with pytest.raises(RegistryConflict, match="ended without a version"):
        send(registry, folder)
    registry.finishes = [NotFound("upload", "u")]
    with pytest.raises(NotFound):
        send(registry, folder)


def test_a_file_that_shrinks_meanwhile_is_noticed(folder: Path) -> None:
    files = files_at(folder)

    def shrink(name: str, done: int, _: int) -> None:
        if name == "model.onnx":
            files[name].write_bytes(b"m")

    with pytest.raises(RegistryConflict, match="changed while it was uploaded"):
        send(Registry(), folder, progress=shrink)


def test_what_cannot_be_uploaded_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        files_at(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match=r"holds no model\.onnx"):
        files_at(tmp_path)
    alone = tmp_path / "any-name.onnx"
    alone.write_bytes(b"m")
    assert files_at(alone) == {"model.onnx": alone}
