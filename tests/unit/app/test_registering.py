"""A project's models in a registry that may have some of them already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inferflow.app.registering import register
from inferflow.serving.runtime import ModelRepository


class KnownRegistry:
    """Has versions as number → digest, and takes the next number where none is wanted."""

    def __init__(self, **versions: str) -> None:
        self.versions = {number.removeprefix("v"): digest for number, digest in versions.items()}
        self.uploaded: list[str] = []

    def models(self) -> list[dict[str, Any]]:
        found = [{"version": number, "digest": each} for number, each in self.versions.items()]
        return [{"name": "m", "versions": found}]

    def upload(self, name: str, files: Any, *, version: str = "", progress: Any = None) -> Any:
        number = version or str(max(map(int, self.versions)) + 1)
        assert number not in self.versions
        self.versions[number] = "uploaded"
        self.uploaded.append(number)
        return {"version": number}


def repository(folder: Path, *versions: str) -> ModelRepository:
    for version in versions:
        path = folder / "m" / version / "model.onnx"
        path.parent.mkdir(parents=True)
        path.write_bytes(version.encode())
    return ModelRepository(folder)


def test_what_is_not_there_is_uploaded_under_its_own_number(tmp_path: Path) -> None:
    registry = KnownRegistry()
    assert register(registry, repository(tmp_path, "1", "7"), None) == {"m": "7"}
    assert registry.uploaded == ["1", "7"]


def test_a_number_taken_by_other_bytes_gives_way_to_the_next(tmp_path: Path) -> None:
    registry = KnownRegistry(v1="others", v2="others")
    assert register(registry, repository(tmp_path, "1"), None) == {"m": "3"}


def test_bytes_that_have_several_numbers_keep_the_one_they_have_here(tmp_path: Path) -> None:
    models = repository(tmp_path, "1")
    same = models.find("m", "1").digest
    registry = KnownRegistry(v1=same, v2="others", v3=same)
    assert register(registry, models, None) == {"m": "1"}
    assert registry.uploaded == []


def test_bytes_under_other_numbers_only_are_known_by_the_lowest(tmp_path: Path) -> None:
    models = repository(tmp_path, "1")
    same = models.find("m", "1").digest
    assert register(KnownRegistry(v9=same, v2=same, v1="others"), models, None) == {"m": "2"}
