"""Is a config well formed: every key known, every value of its type.

Says so in our words, place by place, and gives back as much of the config as can still be
checked further.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from inferflow.plan.problems import Problems, nearest
from inferflow.plan.schema import TOLERATED_KEYS, ConfigDoc, known_keys

Location = tuple[int | str, ...]


def validated(written: Any, problems: Problems) -> ConfigDoc | None:
    """The document, typed; what is wrong with single values is left out and reported, so that
    the rest can still be checked."""
    try:
        return ConfigDoc.model_validate(written)
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False, include_input=False)
    rest = written
    for error in errors:
        _report(error["type"], error["loc"], error["msg"], problems)
        rest = rest if error["type"] in _STRUCTURAL else _without(rest, error["loc"])
    try:
        return ConfigDoc.model_validate(rest)
    except ValidationError:
        return None


_STRUCTURAL = {
    "missing": "is required",
    "model_type": "an object is wanted",
    "dict_type": "an object is wanted",
    "list_type": "a list is wanted",
    "string_type": "a text is wanted",
    "too_short": "is empty",
}
"""Mistakes after which the rest would only be guessed at, and what to say of them."""


def _report(kind: str, location: Location, message: str, problems: Problems) -> None:
    where = _path(location)
    if kind != "extra_forbidden":
        problems.error(where, _STRUCTURAL.get(kind) or message.removeprefix("Value error, "))
    elif location[-1] in TOLERATED_KEYS:
        problems.note(where, "has no effect here and is ignored")
    else:
        meant = nearest(str(location[-1]), known_keys(location[:-1]))
        problems.error(where, "unknown key", f"closest: {meant!r}" if meant else "")


def _without(written: Any, location: Location) -> Any:
    """A copy that lacks the value at a place; unchanged where the place is not as written."""
    first, rest = location[0], location[1:]
    if isinstance(written, dict) and first in written:
        if not rest:
            return {key: value for key, value in written.items() if key != first}
        inner = written[first]
        # `column: TYPE` is short for `column: {dtype: TYPE}`.
        inner = _without(inner, rest) if isinstance(inner, dict | list) else None
        return {**written, first: inner}
    if isinstance(written, list) and isinstance(first, int) and first < len(written) and rest:
        return [*written[:first], _without(written[first], rest), *written[first + 1 :]]
    return written


def _path(location: Location) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", part):
            path += f".{part}" if path else part
        else:
            path += f"[{part!r}]"
    return path or "config"
