"""Callers of a feature store, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.access import CallerBook, Permission, token_digest
from inferflow.app.feature_callers import read_callers
from inferflow.app.feature_store_settings import CallerTable
from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput, Unauthenticated

HEX = token_digest("b").hex()


def test_callers_of_a_file_and_of_the_settings_are_known_together(tmp_path: Path) -> None:
    path = tmp_path / "callers.toml"
    path.write_text(
        f'[callers.one]\ntoken = "a"\nsha256 = "{HEX}"\n[callers.two]\ntoken = "c"\n'
        'rights = ["write"]\n'
    )
    tables = {"three": CallerTable(sha256=(HEX,), rights=("read", "write"))}
    callers = CallerBook(read_callers(path, tables))
    reads, writes = Permission.INFERENCE, Permission.CONFIGURE
    assert callers.authenticate("one", "a").permissions == {reads}
    assert callers.authenticate("one", "b").permissions == {reads}
    assert callers.authenticate("two", "c").permissions == {writes}
    assert callers.authenticate("three", "b").permissions == {reads, writes}
    with pytest.raises(Unauthenticated):
        callers.authenticate("one", "c")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[callers.one]\n", "callers.one: a caller needs a token, or the sha256"),
        ('[callers.one]\ntoken = ""\n', "cannot be empty"),
        ('[callers.one]\nsha256 = "abc"\n', "'abc' is not a SHA-256"),
        ('[callers.one]\ntoken = "a"\nrights = ["delete"]\n', r"callers\.one\.rights"),
        ('[callers.one]\ntoken = "a"\nright = ["read"]\n', r"callers\.one\.right"),
        ('[caller.one]\ntoken = "a"\n', r"only \[callers\.<id>\] is known"),
        ('[callers.set]\ntoken = "a"\n', "'set' is in the settings too"),
        ("callers", "callers.toml"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(
    tmp_path: Path, text: str, what: str
) -> None:
    path = tmp_path / "callers.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=what):
        read_callers(path, {"set": CallerTable(sha256=(HEX,))})


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.toml"):
        read_callers(tmp_path / "none.toml", {})


def test_callers_may_stand_in_the_projects_settings(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text('[feature_store.callers.one]\ntoken = "a"\n')
    settings = read_settings(tmp_path).feature_store
    callers = CallerBook(read_callers(None, settings.callers))
    assert callers.authenticate("one", "a").name == "one"
    assert "'a'" not in repr(settings)
