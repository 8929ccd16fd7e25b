"""Every setting as one entry, read from the classes that declare them.

Whatever is said about settings (the command, the reference page, errors, hints) is said from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from inferflow.app.env_first import all_set, unit, unused, variables_of
from inferflow.plan.problems import closest_hint


@dataclass(frozen=True, slots=True)
class Setting:
    table: str
    """Table of `inferflow.toml`; empty for its top."""
    key: str
    field: FieldInfo
    unused: str
    """Why nothing acts on it; empty when something does."""

    @property
    def name(self) -> str:
        return f"{self.table}.{self.key}" if self.table else self.key

    @property
    def variables(self) -> tuple[str, ...]:
        return variables_of(self.field)

    @property
    def meaning(self) -> str:
        return " ".join((self.field.description or "").split())

    @property
    def unit(self) -> str:
        return unit(self.field)

    @property
    def default(self) -> object:
        return self.field.get_default(call_default_factory=True)


def settings_of(model: type[BaseModel]) -> list[Setting]:
    """The settings at the top, then those of each table."""
    top, tables = [], []
    for key, field in model.model_fields.items():
        table = _table(field)
        if table is None:
            top.append(Setting("", key, field, unused(field)))
        else:
            tables += [
                Setting(key, name, each, unused(each) or unused(field))
                for name, each in table.model_fields.items()
            ]
    return top + tables


def tables_of(model: type[BaseModel]) -> dict[str, str]:
    """Each table, and what it is about."""
    return {
        key: field.description or ""
        for key, field in model.model_fields.items()
        if _table(field) is not None
    }


def unknown_keys(model: type[BaseModel], written: Mapping[str, object]) -> Iterator[str]:
    """Keys of a file that are no settings, each with the nearest that is one."""
    by_table: dict[str, set[str]] = {"": set(tables_of(model))}
    for setting in settings_of(model):
        by_table.setdefault(setting.table, set()).add(setting.key)
    for key, value in written.items():
        if key not in by_table[""]:
            yield _unknown(key, key, by_table[""])
        elif key in by_table and isinstance(value, Mapping):
            for inner in value:
                if inner.replace("-", "_") not in by_table[key]:
                    yield _unknown(f"{key}.{inner}", inner, by_table[key])


def place(
    model: type[BaseModel], location: Sequence[object], environment: Mapping[str, str]
) -> str:
    """Where a wrong value was given: its variable, else its name in the file."""
    name = ".".join(map(str, location))
    for setting in settings_of(model):
        if name == setting.name or name.startswith(f"{setting.name}."):
            return next(iter(all_set(setting.field, environment)), name)
    return name


def _table(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _unknown(name: str, key: str, known: set[str]) -> str:
    return f"{name!r} ({closest_hint(key, known) or 'no such setting'})"
