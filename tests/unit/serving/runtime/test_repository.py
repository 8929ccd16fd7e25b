"""Which models a folder holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inferflow.errors import ModelUnreadable, NotFound
from inferflow.serving.runtime import ModelRepository, Oddity


@pytest.fixture
def repository(folder) -> ModelRepository:
    return ModelRepository(folder.path)


def test_the_highest_version_is_the_default(folder, repository: ModelRepository) -> None:
    for version in ("9", "10", "2"):
        folder.put("ranker", b"x", version)
    assert repository.versions("ranker") == ("2", "9", "10")
    assert repository.find("ranker").version == "10"
    assert repository.find("ranker", "9").label == "ranker@9"
    assert repository.find("ranker", "9").where == "ranker/9/model.onnx"


def test_models_are_listed_by_name(folder, repository: ModelRepository) -> None:
    folder.put("b", b"x")
    folder.put("a", b"x")
    (folder.path / "empty").mkdir()
    (folder.path / ".git" / "1").mkdir(parents=True)
    assert repository.names() == ("a", "b")


def test_a_folder_that_is_not_there_holds_no_models(tmp_path: Path) -> None:
    repository = ModelRepository(tmp_path / "nowhere")
    assert repository.names() == ()
    assert repository.oddities() == ()
    with pytest.raises(NotFound):
        repository.find("ranker")


def test_an_unknown_model_is_answered_with_the_nearest(folder, repository: ModelRepository) -> None:
    folder.put("ranker", b"x")
    with pytest.raises(NotFound, match="no model 'rankr'; did you mean 'ranker'"):
        repository.find("rankr")


def test_an_unknown_version_is_answered_with_the_highest(
    folder, repository: ModelRepository
) -> None:
    folder.put("ranker", b"x", "3")
    with pytest.raises(NotFound, match="no model 'ranker@4'; did you mean 'ranker@3'"):
        repository.find("ranker", "4")


@pytest.mark.scenario("H1")
@pytest.mark.parametrize("name", ["../outside", "..", ".", "", "a/b", "/etc", "a\0b"])
def test_a_name_never_leads_out_of_the_folder(folder, repository, name: str, tmp_path) -> None:
    folder.put("a", b"x")
    (tmp_path / "outside" / "1").mkdir(parents=True)
    (tmp_path / "outside" / "1" / "model.onnx").write_bytes(b"x")
    with pytest.raises(NotFound):
        repository.find(name)


@pytest.mark.parametrize("version", ["../1", "", ".", "1/../1", "01", " 1", "٣"])
def test_a_version_never_leads_out_of_the_folder(folder, repository, version: str) -> None:
    folder.put("a", b"x")
    with pytest.raises(NotFound):
        repository.find("a", version)


def test_folders_that_are_no_versions_are_reported(folder, repository: ModelRepository) -> None:
    folder.put("ranker", b"x", "1")
    for name in ("latest", "0", "01", "-1", "1.5"):
        folder.put("ranker", b"x", name)
    (folder.path / "ranker" / "2").mkdir()
    what = "a version must be a positive whole number"
    assert set(repository.oddities()) == {
        *(Oddity(f"ranker/{name}", what) for name in ("latest", "0", "01", "-1", "1.5")),
        Oddity("ranker/2", "holds no model.onnx"),
    }
    assert repository.versions("ranker") == ("1",)


def test_a_model_file_one_level_too_high_says_where_to_put_it(folder, repository) -> None:
    (folder.path / "ranker").mkdir(parents=True)
    (folder.path / "ranker" / "model.onnx").write_bytes(b"x")
    with pytest.raises(ModelUnreadable, match=r"put the file at ranker/1/model\.onnx"):
        repository.find("ranker")
    assert repository.oddities() == (
        Oddity("ranker", "no version: expected ranker/1/model.onnx"),
    )  # fmt: skip


def test_the_digest_changes_with_the_bytes_and_only_with_them(folder, repository) -> None:
    file = folder.put("ranker", b"one")
    first = repository.find("ranker")
    os.utime(file, ns=(0, 0))
    assert repository.find("ranker").digest == first.digest
    assert repository.holds(first)
    folder.put("ranker", b"two")
    assert repository.find("ranker").digest != first.digest
    assert not repository.holds(first)
    folder.put("ranker", b"one")
    assert repository.holds(first)


def test_weights_beside_the_model_count_for_its_digest(folder, repository) -> None:
    file = folder.put("ranker", b"x")
    before = repository.find("ranker")
    (file.parent / "deep").mkdir()
    (file.parent / "deep" / "weights.bin").write_bytes(b"1")
    with_weights = repository.find("ranker")
    (file.parent / "deep" / "weights.bin").write_bytes(b"2")
    assert len({before.digest, with_weights.digest, repository.find("ranker").digest}) == 3


def test_a_file_that_was_removed_is_no_longer_held(folder, repository) -> None:
    file = folder.put("ranker", b"x")
    found = repository.find("ranker")
    file.unlink()
    file.parent.rmdir()
    assert not repository.holds(found)


def test_a_pipe_in_a_version_folder_is_refused_instead_of_opened(folder, repository) -> None:
    file = folder.put("ranker", b"x")
    os.mkfifo(file.parent / "weights.bin")
    with pytest.raises(ModelUnreadable, match=r"weights\.bin is not a plain file"):
        repository.find("ranker")


def test_a_linked_model_is_followed_and_a_dangling_link_is_not_a_model(
    folder, repository, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.onnx").write_bytes(b"x")
    for version, target in (("1", "elsewhere.onnx"), ("2", "missing.onnx")):
        (folder.path / "ranker" / version).mkdir(parents=True)
        (folder.path / "ranker" / version / "model.onnx").symlink_to(tmp_path / target)
    assert repository.find("ranker").version == "1"
    assert Oddity("ranker/2", "holds no model.onnx") in repository.oddities()
