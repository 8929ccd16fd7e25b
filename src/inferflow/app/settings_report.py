"""What is set, where it was set, and which variables look as if they were meant to set something.

Secrets leave here as stars: whole values of secret settings, and the password inside a URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from inferflow.app.env_first import all_set
from inferflow.app.setting_table import Setting, settings_of
from inferflow.app.settings import FILE, Settings, read_settings, written_settings
from inferflow.plan.problems import Problem, nearest

STARS = "***"
ELSEWHERE = ("INFERFLOW_DEBUG",)
"""Variables that are read, and are no settings of a project."""

_OURS = (
    "inferflow_",
    "externalservice",
    "external_service_",
    "numerixclientv1_",
    "numerix_client_",
)
"""How variables begin that nobody else has a use for, in small letters."""
_CREDENTIALS = re.compile(r"(?P<before>://(?:[^/@\s:,]*:)?)[^/\s,]+(?=@)")
"""The password in a URL, else the name, which may be a token."""


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting of a project, fit to be shown."""

    name: str
    variables: tuple[str, ...]
    value: Any
    unit: str
    source: str
    """`environment NAME`, `inferflow.toml` or `default`."""
    meaning: str
    unused: str
    """Why nothing acts on it; empty when something does."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def settings_report(root: Path, environment: Mapping[str, str]) -> list[SettingValue]:
    """Every setting of a project. Raises InvalidInput when they cannot be read."""
    settings, written = read_settings(root), written_settings(root)
    return [
        SettingValue(
            setting.name,
            setting.variables,
            shown(_found(settings, setting)),
            setting.unit,
            _source(setting, written, environment),
            setting.meaning,
            setting.unused,
        )
        for setting in settings_of(Settings)
    ]


def odd_variables(environment: Mapping[str, str]) -> Iterator[Problem]:
    """Variables that set nothing although they look like it."""
    settings = settings_of(Settings)
    known = {name.lower() for setting in settings for name in setting.variables}
    known |= {name.lower() for name in ELSEWHERE}
    for name in sorted(environment):
        if name.lower().startswith(_OURS) and name.lower() not in known:
            yield Problem(name, "no such setting", _hint(name, settings), severity="note")
    for setting in settings:
        first, *others = all_set(setting.field, environment) or [""]
        for other in others:
            if environment[other] != environment[first]:
                yield Problem(
                    other, f"is not read, because {first} is set too", "unset one", severity="note"
                )


def _hint(name: str, settings: Sequence[Setting]) -> str:
    """The variable meant, by what is left without the beginning that many share."""
    likely = {_tail(variable): variable for each in settings for variable in each.variables}
    likely |= {each.key: each.variables[0] for each in reversed(settings) if each.variables}
    like = nearest(_tail(name), likely)
    return f"closest: {likely[like]!r}" if like else ""


def _tail(variable: str) -> str:
    small = variable.lower()
    return next((small.removeprefix(start) for start in _OURS if small.startswith(start)), small)


def shown(value: object) -> Any:
    """A value for people and JSON alike, without its secrets."""
    if isinstance(value, SecretStr):
        return STARS if value.get_secret_value() else ""
    if isinstance(value, str):
        return _CREDENTIALS.sub(rf"\g<before>{STARS}", value)
    if isinstance(value, BaseModel):
        return shown(value.model_dump(exclude_unset=True))
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    if isinstance(value, Mapping):
        return {key: shown(each) for key, each in value.items()}
    return value


def _found(settings: Settings, setting: Setting) -> object:
    table = getattr(settings, setting.table) if setting.table else settings
    return getattr(table, setting.key)


def _source(setting: Setting, written: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    for variable in all_set(setting.field, environment):
        return f"environment {variable}"
    table = written.get(setting.table, {}) if setting.table else written
    in_file = setting.key in {key.replace("-", "_") for key in table}
    return FILE if in_file else "default"
