"""Settings given in code win over environment and file, and are checked like them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from inferflow.app.setting_table import unknown_keys
from inferflow.errors import InvalidInput

Table = TypeVar("Table", bound=BaseModel)


def overridden(settings: Table, given: Mapping[str, Any]) -> Table:
    """A copy in which `given` counts. A table may be given as an object, or as the keys that
    differ. Raises InvalidInput for names and values that are wrong."""
    unknown = list(unknown_keys(type(settings), given))
    if unknown:
        raise InvalidInput(f"unknown settings: {', '.join(unknown)}")
    return _updated(settings, given, "")


def _updated(table: Table, given: Mapping[str, Any], place: str) -> Table:
    changes: dict[str, Any] = {}
    for key, value in given.items():
        now = getattr(table, key)
        if isinstance(now, BaseModel) and isinstance(value, Mapping):
            changes[key] = _updated(now, value, f"{place}{key}.")
        else:
            changes[key] = _checked(table, key, value, place)
    return table.model_copy(update=changes)


def _checked(table: BaseModel, key: str, value: Any, place: str) -> Any:
    try:
        return TypeAdapter(_kind(type(table).model_fields[key])).validate_python(value)
    except ValidationError as invalid:
        [what, *_] = invalid.errors(include_input=False, include_url=False)
        why = what["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"settings: {place}{key}: {why}") from None


def _kind(field: FieldInfo) -> Any:
    """The type of a field with all its conditions."""
    kind = field.annotation
    return Annotated[(kind, *field.metadata)] if field.metadata else kind
