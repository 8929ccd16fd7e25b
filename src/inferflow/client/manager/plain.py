"""A manager's messages as plain values, for people and for JSON."""

from __future__ import annotations

from typing import Any

Message = Any


def plain(message: Message) -> dict[str, Any]:
    """Every field by its name, also those with their default; numbers stay numbers."""
    return {
        field.name: _value(field, getattr(message, field.name))
        for field in message.DESCRIPTOR.fields
    }


def _value(field: Any, value: Any) -> Any:
    if field.message_type is None:
        return list(value) if _is_many(value) else value
    if field.message_type.GetOptions().map_entry:
        return dict(value)
    return [plain(each) for each in value] if _is_many(value) else plain(value)


def _is_many(value: Any) -> bool:
    return hasattr(value, "append")
