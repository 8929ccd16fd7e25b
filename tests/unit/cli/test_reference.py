"""The reference page and the command cannot drift apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from inferflow.cli.root import app

PAGE = (Path(__file__).parents[3] / "docs/reference/cli.md").read_text("utf-8")


def commands(command: Any, path: str = "inferflow") -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from commands(each, f"{path} {name}")
    else:
        yield path, command


LEAVES = dict(commands(get_command(app)))


def section(path: str) -> str:
    """The part of the page about a command, such as `inferflow score`."""
    title = " ".join(path.split()[:2])
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"the page has no section {title!r}"
    return found[1]


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_and_option_is_on_the_page(path: str) -> None:
    text = section(path)
    assert path in text
    for parameter in LEAVES[path].params:
        for option in parameter.opts:
            if option.startswith("--") and option != "--help":
                assert option in text, f"{path} {option}"


def test_every_option_on_the_page_exists() -> None:
    real = {
        option for command in LEAVES.values() for each in command.params for option in each.opts
    }
    real |= {"--help", "--version", "--install-completion", "--show-completion"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)) <= real


def test_every_command_is_in_the_list_at_the_top() -> None:
    listed = set(re.findall(r"^\| \[`(inferflow [\w-]+)`\]", PAGE, re.MULTILINE))
    assert listed == {" ".join(path.split()[:2]) for path in LEAVES}
