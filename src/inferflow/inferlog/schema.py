"""What is logged of a config: which columns, in which order and type. Decided when it is loaded.

Order and types are those that decoders expect: features, compute scores, model scores, then what
compute and model steps read beside these, as text. One list holds for targets and for pairs or
slates; a column that the one has and the other has not is absent there.

A decoder finds the list by the config's id and version. The version is only four bits wide and is
the config author's to change, so a list has a digest too, which tells any two lists apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inferflow.dtypes import STRING, DType, parse_dtype
from inferflow.errors import InvalidInput
from inferflow.plan.plan import Column, Plan, Space

VERSIONS = 16
"""Versions a message can tell apart; later ones begin again at 0."""


@dataclass(frozen=True, slots=True)
class LogField:
    """One logged column, as decoders know it."""

    name: str
    dtype: DType
    size: int
    """Elements of a vector, 1 for anything else; 0 when only a request can say."""


@dataclass(frozen=True, slots=True)
class LogSchema:
    """The columns of a config's log messages."""

    config_id: str
    version: int
    fields: tuple[LogField, ...]

    @property
    def digest(self) -> str:
        """Tells this list of columns from any other of the same config."""
        listed = json.dumps([(each.name, each.dtype.name, each.size) for each in self.fields])
        return hashlib.blake2b(listed.encode(), digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The answer a decoder asks for, and what it was made of."""
        return {
            "model_config_id": self.config_id,
            "version": self.version,
            "schema": self.digest,
            "data": [
                {
                    "feature_name": each.name,
                    "feature_type": each.dtype.name,
                    "feature_size": each.size,
                }
                for each in self.fields
            ],
        }


def schema_from(document: Mapping[str, Any]) -> LogSchema:
    """What `to_dict` gave, or a decoder's answer of another server."""
    try:
        fields = tuple(
            LogField(
                str(entry["feature_name"]),
                parse_dtype(str(entry["feature_type"])),
                int(entry.get("feature_size") or 0),
            )
            for entry in document["data"]
        )
        config_id, version = document.get("model_config_id", ""), document.get("version", 0)
        return LogSchema(str(config_id), int(version), fields)
    except (KeyError, TypeError, ValueError, AttributeError) as broken:
        raise InvalidInput(f"this is no log schema: {broken!r}") from broken


@dataclass(frozen=True, slots=True)
class PlacedField:
    """A logged column with the places its values are found at."""

    field: LogField
    target: Column | None
    slate: Column | None

    def column(self, space: Space) -> Column | None:
        return self.target if space == "target" else self.slate


def log_schema(plan: Plan) -> LogSchema:
    fields = tuple(placed.field for placed in placed_fields(plan))
    return LogSchema(plan.config_id, plan.log.version % VERSIONS, fields)


def placed_fields(plan: Plan) -> Sequence[PlacedField]:
    """Every logged column of a plan. Slate-level values of a name are its slate side."""
    per_slate = {each.name: each.slate for each in plan.request_columns}
    placed = []
    for name, column in plan.log.columns:
        is_slate = column.space == "slate"
        placed.append(
            PlacedField(
                _field(name, column, is_input=name in plan.log.inputs),
                None if is_slate else column,
                column if is_slate else per_slate.get(column.name),
            )
        )
    return placed


def _field(name: str, column: Column, *, is_input: bool) -> LogField:
    dtype = column.dtype
    if dtype is None or is_input:
        return LogField(name, STRING, 1)
    return LogField(name, dtype, (column.width or 0) if dtype.is_vector else 1)
