"""`inferflow init`"""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_a_project_is_written_and_the_next_steps_are_told(run: Run, tmp_path: Path) -> None:
    text = run("init", tmp_path / "shop").stdout
    assert f"inferflow validate {tmp_path / 'shop'}" in text
    assert (tmp_path / "shop/configs/ranker.yaml").is_file()


def test_a_folder_with_something_in_it_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    assert "not an empty folder" in run("init", tmp_path, code=1).stderr
