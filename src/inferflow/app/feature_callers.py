"""Callers of a feature store as people write them, in the settings and in a file of their own.

They are callers like those of the `[auth]` table, with rights in the words of a feature store.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from inferflow.access import KeyCard, ModelPatterns, NamedCaller, Permission, token_digest
from inferflow.app.feature_store_settings import CallerTable
from inferflow.errors import InvalidInput

_TABLES = TypeAdapter(dict[str, CallerTable])
_PERMISSIONS = {"read": Permission.INFERENCE, "write": Permission.CONFIGURE}


def read_callers(path: Path | None, tables: Mapping[str, CallerTable]) -> dict[str, NamedCaller]:
    """Those of a file and those of the settings. Raises InvalidInput."""
    listed = dict(tables)
    if path is not None:
        written = _written(path)
        for name in sorted(set(written) & set(listed)):
            raise InvalidInput(f"{path.name}: caller {name!r} is in the settings too")
        listed |= written
    return {name: _caller(name, table) for name, table in listed.items()}


def _caller(name: str, table: CallerTable) -> NamedCaller:
    tokens = [] if table.token is None else [token_digest(table.token.get_secret_value())]
    may = frozenset(_PERMISSIONS[right] for right in table.rights)
    card = KeyCard(f"caller:{name}", name, may, ModelPatterns(), created_ms=0)
    return NamedCaller(card, (*tokens, *map(bytes.fromhex, table.sha256)))


def _written(path: Path) -> dict[str, CallerTable]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        raise InvalidInput(f"{path}: {broken}") from broken
    if unknown := set(content) - {"callers"}:
        raise InvalidInput(f"{path.name}: only [callers.<id>] is known, not {sorted(unknown)}")
    try:
        return _TABLES.validate_python(content.get("callers", {}))
    except ValidationError as invalid:
        listed = "; ".join(
            f"callers.{'.'.join(map(str, error['loc']))}: "
            f"{error['msg'].removeprefix('Value error, ')}"
            for error in invalid.errors(include_input=False, include_url=False)
        )
        raise InvalidInput(f"{path.name}: {listed}") from invalid
