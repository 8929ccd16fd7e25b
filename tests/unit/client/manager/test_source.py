"""Models from a registry: fetched once, resumed, checked, and dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inferflow.client.manager.calls import declared
from inferflow.client.manager.orders import RemoteFile, RemoteVersion
from inferflow.client.manager.source import ManagerSource
from inferflow.errors import ModelUnavailable, ModelUnreadable, NotFound, Unreachable
from inferflow.serving.manager.publishing import digest_of
from inferflow.serving.manager.storage.records import FileInfo


class Registry:
    """Hands out bytes in small pieces, and breaks off where it is told to."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"{name}.onnx": data for name, data in files.items()}
        self.breaks_after: int | None = None
        self.offsets: list[int] = []
        self.addresses = ("manager:1",)

    def stream(self, method: str, request: Any, answer: str) -> Iterator[Any]:
        assert (method, answer) == ("Fleet/FetchModel", "FetchModelChunk")
        self.offsets.append(request.offset)
        data = self.files[request.path][request.offset :]
        for at in range(0, len(data), 4):
            if self.breaks_after is not None and at >= self.breaks_after:
                raise Unreachable("manager:1", 1, "gone")
            yield declared("FetchModelChunk")(data=data[at : at + 4])


def version(number: str = "1", stage: str = "production", **files: bytes) -> RemoteVersion:
    infos = [
        FileInfo(f"{name}.onnx", len(data), hashlib.sha256(data).hexdigest())
        for name, data in files.items()
    ]
    remote = tuple(RemoteFile(info.path, info.size, info.sha256) for info in infos)
    return RemoteVersion("m", number, digest_of(infos), stage, remote, {"max_batch": 8})


def source(registry: Registry, folder: Path, *versions: RemoteVersion) -> ManagerSource:
    made = ManagerSource(registry, folder, lambda: True)  # type: ignore[arg-type]
    made.use(versions)
    return made


CONTENT = b"sixteen bytes !!"


def test_a_version_is_fetched_once_and_known_by_its_digest(tmp_path: Path) -> None:
    registry = Registry(model=CONTENT, more=b"weights")
    wanted = version(model=CONTENT, more=b"weights")
    first = source(registry, tmp_path, wanted)
    file = first.fetch("m", "1")
    assert (file.label, file.digest) == ("m@1", wanted.digest)
    assert file.path.read_bytes() == CONTENT
    assert (file.path.parent / "more.onnx").read_bytes() == b"weights"
    assert first.fetch("m", "1") == file
    assert source(registry, tmp_path, wanted).fetch("m", "1") == file  # after a restart
    assert registry.offsets == [0, 0]
    assert dict(first.options("m")) == {"max_batch": 8}


def test_a_fetch_that_broke_off_goes_on_where_it_ended(tmp_path: Path) -> None:
    registry = Registry(model=CONTENT)
    registry.breaks_after = 8
    models = source(registry, tmp_path, version(model=CONTENT))
    assert models.fetch("m", "1").path.read_bytes() == CONTENT
    assert registry.offsets == [0, 8]


def test_when_no_manager_answers_the_model_is_unavailable_for_now(tmp_path: Path) -> None:
    registry = Registry(model=CONTENT)
    registry.breaks_after = 0
    models = source(registry, tmp_path, version(model=CONTENT))
    with pytest.raises(ModelUnavailable, match="not fetched"):
        models.fetch("m", "1")
    registry.breaks_after = None
    assert models.fetch("m", "1").path.read_bytes() == CONTENT


def test_wrong_bytes_are_refused_and_reported_and_leave_nothing(tmp_path: Path) -> None:
    registry = Registry(model=b"sixteen bytes ??")
    models = source(registry, tmp_path, version(model=CONTENT))
    with pytest.raises(ModelUnreadable, match="has the checksum"):
        models.fetch("m", "1")
    assert list(models.corrupt) == [("m", "1")]
    assert not list(tmp_path.rglob("*.onnx"))
    registry.files["model.onnx"] = CONTENT
    models.fetch("m", "1")
    assert models.corrupt == {}


def test_a_cache_that_was_changed_is_thrown_away(tmp_path: Path) -> None:
    registry = Registry(model=CONTENT)
    models = source(registry, tmp_path, version(model=CONTENT))
    path = models.fetch("m", "1").path
    path.write_bytes(b"something else")
    assert models.fetch("m", "1").path.read_bytes() == CONTENT


def test_what_the_registry_no_longer_has_leaves_the_cache(tmp_path: Path) -> None:
    registry = Registry(model=CONTENT)
    models = source(registry, tmp_path, version(model=CONTENT))
    models.fetch("m", "1")
    models.use(())
    models.prune()
    assert not list(tmp_path.rglob("*.onnx"))
    with pytest.raises(NotFound, match="m@1"):
        models.fetch("m", "1")


def test_the_manager_is_asked_first_for_what_is_not_known(tmp_path: Path) -> None:
    asked: list[int] = []
    models = ManagerSource(Registry(), tmp_path, lambda: bool(asked.append(1)) or True)  # type: ignore[arg-type]
    models.use((version("2", "dev", model=b"b"), version("1", model=b"a")))
    # as the manager has them, production last
    assert models.index(is_urgent=False) == {"m": ("2", "1")}
    assert asked == []
    models.index(is_urgent=True)
    assert asked == [1]


def test_what_cannot_be_asked_for_is_not_taken_for_what_is_not_there(tmp_path: Path) -> None:
    models = ManagerSource(Registry(), tmp_path, lambda: False)  # type: ignore[arg-type]
    with pytest.raises(Unreachable, match="manager:1"):
        models.index(is_urgent=True)
