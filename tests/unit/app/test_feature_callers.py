"""Callers of a feature store, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.api.features.callers import digest
from inferflow.app.feature_callers import read_callers
from inferflow.app.feature_store_settings import CallerTable
from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput, PermissionDenied, Unauthenticated

HEX = digest("b").hex()


def shown(name: str, token: str) -> list[tuple[str, str]]:
    return [("online-feature-store-caller-id", name), ("online-feature-store-auth-token", token)]


def test_callers_of_a_file_and_of_the_settings_are_known_together(tmp_path: Path) -> None:
    path = tmp_path / "callers.toml"
    path.write_text(
        f'[callers.one]\ntoken = "a"\nsha256 = "{HEX}"\n[callers.two]\ntoken = "c"\n'
        'rights = ["write"]\n'
    )
    callers = read_callers(path, {"three": CallerTable(sha256=(HEX,), rights=("read", "write"))})
    assert callers.check(shown("one", "a"), "read") == "one"
    assert callers.check(shown("one", "b"), "read") == "one"
    assert callers.check(shown("two", "c"), "write") == "two"
    assert callers.check(shown("three", "b"), "write") == "three"
    with pytest.raises(PermissionDenied):
        callers.check(shown("two", "c"), "read")
    with pytest.raises(Unauthenticated):
        callers.check(shown("one", "c"), "read")


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
    assert read_callers(None, settings.callers).check(shown("one", "a"), "read") == "one"
    assert "'a'" not in repr(settings)
