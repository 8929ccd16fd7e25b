"""What was backed up comes back: scores, rows, history, registry."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import inferflow
from inferflow.access import OPERATOR
from inferflow.app.backup import restore_backup, take_backup
from inferflow.app.settings import read_settings
from inferflow.configstore import DirectoryStore
from inferflow.configstore.versions import Draft
from inferflow.errors import BackupFailed, InvalidInput

from ...serving.manager.office import SECRET, Office
from .conftest import MADE_S, Take


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def asked(project: Path) -> dict[str, object]:
    request = json.loads((project / "requests/ranker.json").read_text())
    return {"model_config_id": request["model_config_id"], "entities": request["entities"]}


@pytest.mark.scenario("K6")
def test_a_restored_project_scores_as_before_with_what_was_put_after_loading(
    project: Path, take: Take, tmp_path: Path
) -> None:
    with inferflow.open(project) as flow:
        flow.features.put("user", None, [{"user_id": "ada", "likes_new": 0.125}])
        before = flow.answer(asked(project)).columns
        taken = take()
    restored = restore_backup(taken.file, tmp_path / "copy")
    with inferflow.open(restored.root) as flow:
        after = flow.answer(asked(project)).columns
        values = {each.feature: each.value for each in flow.features.get("user", "ada")}
    assert {name: list(column) for name, column in after.items()} == {
        name: list(column) for name, column in before.items()
    }
    assert values["likes_new"] == 0.125
    assert restored.manifest.made_ms == MADE_S * 1000
    assert restored.notes == ()


def test_the_history_of_configs_comes_back(project: Path, take: Take, tmp_path: Path) -> None:
    text = (project / "configs/ranker.yaml").read_text()
    store = DirectoryStore(project / "configs", project / ".inferflow/configs")
    for number in range(3):
        store.push(Draft("ranker", f"{text}# {number}\n", "yaml", "ann"))
    made = restore_backup(take().file, tmp_path / "copy").root
    restored = DirectoryStore(made / "configs", made / ".inferflow/configs")
    assert restored.history("ranker") == store.history("ranker")
    assert restored.text(restored.history("ranker")[1]) == f"{text}# 0\n"
    assert restored.get("ranker").text == f"{text}# 2\n"


def test_a_registry_comes_back_with_its_files_its_uploads_and_its_secret(
    project: Path, take: Take, tmp_path: Path
) -> None:
    own = project / ".inferflow/manager"
    own.mkdir(parents=True)
    (own / "secret").write_text(SECRET.hex())
    office = Office(str(own / "registry.db"), own / "files")
    version = office.publish()
    taken = take()
    office.close()

    made = restore_backup(taken.file, tmp_path / "copy").root / ".inferflow/manager"
    assert (made / "secret").read_text() == SECRET.hex()
    assert os.stat(made / "registry.db").st_mode & 0o777 == 0o600
    again = Office(str(made / "registry.db"), made / "files")
    try:
        (model,) = again.services.registry.models(OPERATOR)
        assert model.versions == (version,)
    finally:
        again.close()
    assert contents(made / "files") == contents(own / "files")


def test_a_lost_model_file_is_told_of_and_the_rest_kept(
    project: Path, take: Take, tmp_path: Path
) -> None:
    own = project / ".inferflow/manager"
    office = Office(str(own / "registry.db"), own / "files")
    office.publish()
    office.close()
    (lost,) = (path for path in (own / "files/models").rglob("*") if path.is_file())
    lost.unlink()
    (warning,) = take().warnings
    assert str(lost) in warning
    assert "the manager's secret, which the settings bring" in take(replace=True).manifest.elsewhere


def test_caches_logs_hidden_files_and_strangers_are_left_out(project: Path, take: Take) -> None:
    for name in (
        ".inferflow/worker/fleet/x",
        ".inferflow/logs/x",
        "configs/.draft.yaml",
        "notes.txt",
    ):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not mine")
    names = set(take().manifest.files)
    assert {"project/configs/ranker.yaml", "project/models/like_model/1/model.onnx"} <= names
    assert not [name for name in names if "worker" in name or "logs" in name or "draft" in name]
    assert "project/notes.txt" not in names


def test_what_lies_elsewhere_is_named(project: Path, tmp_path: Path) -> None:
    (project / "inferflow.toml").write_text(
        'feature_backend = "redis"\n[etcd]\nendpoints = ["localhost:1"]\n'
        '[manager]\ndatabase = "postgresql://u@h/d"\n'
    )
    taken = take_backup(project, read_settings(project), tmp_path / "b", now=lambda: MADE_S)
    said = " ".join(taken.manifest.elsewhere)
    assert "configs, which are in etcd" in said
    assert "features, which are in Redis" in said
    assert "the registry, which is in PostgreSQL" in said


def test_a_backup_replaces_nothing_unless_told_to(take: Take, tmp_path: Path) -> None:
    taken = take()
    with pytest.raises(InvalidInput, match=r"there already; --force"):
        take()
    take(replace=True)
    assert taken.file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_restore_replaces_nothing_unless_told_to(
    project: Path, take: Take, tmp_path: Path
) -> None:
    taken, there = take(), tmp_path / "there"
    there.mkdir()
    (there / "precious").write_text("mine")
    with pytest.raises(InvalidInput, match=r"there already; --force"):
        restore_backup(taken.file, there)
    assert contents(there) == {"precious": b"mine"}
    restore_backup(taken.file, there, replace=True)
    assert "precious" not in contents(there)
    assert contents(there)["configs/ranker.yaml"] == (project / "configs/ranker.yaml").read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_empty_folder_may_be_restored_into(take: Take, tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    restore_backup(take().file, tmp_path / "mount")
    assert (tmp_path / "mount/configs/ranker.yaml").exists()


def test_settings_that_keep_state_elsewhere_are_noted(
    project: Path, take: Take, tmp_path: Path
) -> None:
    (project / "inferflow.toml").write_text(f'data_dir = "{tmp_path / "far"}"\n')
    (note,) = restore_backup(take().file, tmp_path / "copy").notes
    assert str(tmp_path / "far") in note
    assert "INFERFLOW_DATA_DIR" in note


def test_a_file_that_never_rests_is_named(
    project: Path, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = project / "requests/ranker.json"
    real = os.fstat

    def restless(handle: int) -> os.stat_result:
        if os.readlink(f"/proc/self/fd/{handle}") == str(busy):
            with busy.open("a") as file:
                file.write(" ")
        return real(handle)

    monkeypatch.setattr(os, "fstat", restless)
    with pytest.raises(BackupFailed, match=r"requests/ranker.json changes whenever"):
        take()
    assert not list(project.parent.glob("*.tar.gz"))
