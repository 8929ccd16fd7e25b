"""Where state goes, whatever may be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.places import config_dir, data_dir
from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that may not be written, nor the home for state; temporary files may."""
    for name in ("project", "home", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "project").chmod(0o555)
    (tmp_path / "home").chmod(0o555)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "project"


def test_state_is_beside_a_project_that_may_be_written(tmp_path: Path) -> None:
    assert data_dir(tmp_path, read_settings(tmp_path)) == tmp_path / ".inferflow"


def test_a_folder_that_may_not_be_written_has_its_state_at_home(sealed: Path) -> None:
    (sealed.parent / "home").chmod(0o755)
    found = data_dir(sealed, read_settings(sealed))
    assert found.parent == sealed.parent / "home" / "state" / "inferflow"


def test_where_nothing_else_may_be_written_temporary_files_have_to_do(sealed: Path) -> None:
    found = data_dir(sealed, read_settings(sealed))
    assert found.parent == sealed.parent / "temporary"
    assert found.stat().st_mode & 0o777 == 0o700
    assert data_dir(sealed, read_settings(sealed)) == found


def test_a_user_without_a_home_is_given_none(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(sealed.parent / "nobody"))
    assert data_dir(sealed, read_settings(sealed)).parent == sealed.parent / "temporary"
    assert not (sealed.parent / "nobody").exists()


def test_a_temporary_folder_that_is_none_is_refused(sealed: Path) -> None:
    found = data_dir(sealed, read_settings(sealed))
    found.rmdir()
    found.symlink_to(sealed.parent)
    with pytest.raises(InvalidInput, match="INFERFLOW_DATA_DIR"):
        data_dir(sealed, read_settings(sealed))


def test_what_is_set_counts(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERFLOW_DATA_DIR", str(sealed.parent / "chosen"))
    assert data_dir(sealed, read_settings(sealed)) == sealed.parent / "chosen"


def test_applications_that_share_a_folder_remember_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_ENDPOINTS", "127.0.0.1:1")
    homes = set()
    for app in ("shop", "books"):
        monkeypatch.setenv("APP_NAME", app)
        homes.add(config_dir(tmp_path, read_settings(tmp_path)))
    assert len(homes) == 2
