"""What models and files may be called."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.serving.manager.names import (
    check_file_paths,
    check_model_name,
    check_text,
    check_version,
)

from ....robustness.scenario import StartScenario

TRICKS = [
    "",
    ".",
    "..",
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b",
    "a/./b",
    "a//b",
    "a/",
    "/",
    "a\0b",
    "a\nb",
    "a b",
    ".hidden",
    "a/.hidden",
    "CON",
    "con.onnx",
    "x/NUL",
    "lpt1",
    "C:\\x",
    "a\\b",
    "~/x",
    "%2e%2e/x",
    "r\u0430nker",  # a Cyrillic letter that looks like `a`
    "ranker\u202e",
    "\uff52anker",
    "a" * 300,
    "a.",
    "a/b./c",
    "-x/../y",
]


@pytest.mark.parametrize("trick", TRICKS)
def test_tricks_are_neither_models_nor_files(trick: str, scenario: StartScenario) -> None:
    tried = scenario("H1", "names that lead elsewhere")
    with pytest.raises(InvalidInput) as refused:
        check_model_name(trick)
    assert len(str(refused.value)) < 300
    with pytest.raises(InvalidInput):
        check_file_paths([trick])
    tried.shown("refused, as models and as files", "refused")


@pytest.mark.parametrize("name", ["ranker", "Ranker-2", "a", "2b", "x.y_z-1", "a" * 128])
def test_plain_names_are_models(name: str) -> None:
    assert check_model_name(name) == name


@pytest.mark.parametrize("path", ["model.onnx", "weights/part-0.bin", "a/b/c/d", "_x"])
def test_plain_relative_paths_are_files(path: str) -> None:
    check_file_paths([path])


@given(path=st.text(st.sampled_from("./\\ab:~\0 -_C"), max_size=12))
def test_no_accepted_path_leaves_its_folder_on_any_system(
    scenario: StartScenario, path: str
) -> None:
    tried = scenario("H1", "random paths")
    try:
        check_file_paths([path])
    except InvalidInput:
        return
    for kind in (PurePosixPath, PureWindowsPath):
        read = kind(path)
        assert not read.is_absolute()
        assert not read.drive
        assert ".." not in read.parts
        is_itself = "/".join(read.parts) == path
        tried.holds("refused, or inside its folder on any system", "inside", is_itself)


@pytest.mark.parametrize("paths", [["a", "A"], ["a", "a/b"], ["x/y/z", "X/Y"], ["a/b", "a/b"]])
def test_files_that_cannot_lie_side_by_side_are_refused(paths: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"twice|both a file and a folder"):
        check_file_paths(paths)
    with pytest.raises(InvalidInput, match=r"twice|both a file and a folder"):
        check_file_paths(reversed(paths))


def test_a_path_five_deep_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 4 deep"):
        check_file_paths(["a/b/c/d/e"])


@pytest.mark.parametrize("version", ["0", "-1", "01", "1.0", "x", "1" * 19, "\uff11"])
def test_versions_are_positive_whole_numbers(version: str) -> None:
    with pytest.raises(InvalidInput, match="positive whole number"):
        check_version(version)
    assert check_version("7") == 7
    assert check_version("") is None


def test_text_has_a_limit_and_no_control_characters() -> None:
    assert check_text("note", "två\n\tord", longest=10) == "två\n\tord"
    with pytest.raises(InvalidInput, match="11 characters; at most 10"):
        check_text("note", "x" * 11, longest=10)
    for odd in ("\0", "\x1b", "\u202e", "\r"):
        with pytest.raises(InvalidInput, match="control character"):
            check_text("note", odd, longest=10)
