"""Settings that the environment may overrule, whatever a file says.

A field lists its variables (`named`), says what it means in the text below it, and whether this
version acts on it at all (`Unused`). Everything that is told about settings is read from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


@dataclass(frozen=True, slots=True)
class Unused:
    """Marks a setting that is read and checked, and that nothing acts on."""

    why: str


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks what a setting's number counts."""

    text: str


@dataclass(frozen=True, slots=True)
class Converted:
    """Marks a variable whose text means something else than the setting's own."""

    variable: str
    convert: Callable[[str], object]


class EnvFirst(BaseSettings):
    """A table of settings: environment over what is given over defaults; unknown keys refused."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # the library's own signature
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return _Variables(settings_cls), init_settings


class _Variables(PydanticBaseSettingsSource):
    """The variables a field lists, and no other.

    The library's own source also takes a field's name for a variable, so that a shell's `HOST`
    would become the host of whatever has one.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        variable = first_set(field, os.environ)
        return None if variable is None else _value(field, variable), field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}


def named(field: str, *environment: str) -> AliasChoices:
    """A setting's key in the file, then its variables; `INFERFLOW_<FIELD>` unless given."""
    return AliasChoices(field, *(environment or (f"INFERFLOW_{field.upper()}",)))


def variables_of(field: FieldInfo) -> tuple[str, ...]:
    """The variables of a setting; the first that is set counts."""
    choices = field.validation_alias
    return tuple(map(str, choices.choices[1:])) if isinstance(choices, AliasChoices) else ()


def all_set(field: FieldInfo, environment: Mapping[str, str]) -> list[str]:
    """Which of its variables are set, as they are spelt there; case does not matter."""
    spelt = {name.lower(): name for name in environment}
    return [
        spelt[variable.lower()] for variable in variables_of(field) if variable.lower() in spelt
    ]


def first_set(field: FieldInfo, environment: Mapping[str, str]) -> str | None:
    return next(iter(all_set(field, environment)), None)


def unused(field: FieldInfo) -> str:
    """Why nothing acts on a setting; empty when something does."""
    return next((mark.why for mark in field.metadata if isinstance(mark, Unused)), "")


def unit(field: FieldInfo) -> str:
    return next((mark.text for mark in field.metadata if isinstance(mark, Unit)), "")


def _value(field: FieldInfo, variable: str) -> object:
    text = os.environ[variable]
    for mark in field.metadata:
        if isinstance(mark, Converted) and mark.variable.lower() == variable.lower():
            return mark.convert(text)
    return text
