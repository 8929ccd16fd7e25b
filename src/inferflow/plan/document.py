"""Reads JSON and YAML the way a config deserves: a key given twice is refused, not overwritten.

YAML follows the 1.2 core rules, so that `on`, `no` and `1e-5` mean what they look like. A file
that would exhaust the stack or the memory of whoever reads it is refused before it can.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar

import yaml

from inferflow.errors import InvalidInput

MAX_DEPTH = 100
"""Levels of nesting; a config needs about ten."""
MAX_NODES = 1_000_000
"""Values in one document, each alias counted as what it stands for."""


def read_document(path: Path) -> Any:
    """The content of a .json, .yaml or .yml file."""
    return parse_document(file_text(path), name=path.name, is_json=path.suffix == ".json")


def file_text(path: Path) -> str:
    """What a file says, to the last line end. Raises InvalidInput when it is no text."""
    try:
        # Bytes, because reading text would change its line ends.
        return path.read_bytes().decode("utf-8")
    except OSError as unreadable:
        why = unreadable.strerror or unreadable
        raise InvalidInput(f"{path.name}: cannot be read: {why}") from unreadable
    except UnicodeDecodeError as unreadable:
        raise InvalidInput(f"{path.name}: cannot be read: {unreadable}") from unreadable


def parse_document(text: str, *, name: str, is_json: bool) -> Any:
    """Parse text; errors name the document, the line and the column."""
    try:
        return _parse_json(text) if is_json else _parse_yaml(text)
    except json.JSONDecodeError as broken:
        at = f"line {broken.lineno}, column {broken.colno}"
        raise InvalidInput(f"{name}: not valid JSON at {at}: {broken.msg}") from broken
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "unknown place"
        raise InvalidInput(f"{name}: not valid YAML at {at}: {broken.problem}") from broken
    except RecursionError as broken:
        raise InvalidInput(f"{name}: nested too deeply") from broken
    except (yaml.YAMLError, _Refused) as broken:
        raise InvalidInput(f"{name}: {broken}") from broken
    except ValueError as broken:  # what is left is Python's own limit on the digits of a number
        raise InvalidInput(f"{name}: holds a number too long to read") from broken


class _Refused(ValueError):
    pass


def _parse_json(text: str) -> Any:
    content = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    if "\\ud" in text.lower():
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _Refused("a \\ud… escape stands for half a character") from None
    return content


def _no_constant(word: str) -> Any:
    raise _Refused(f"{word} is not a JSON number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise _Refused(f"key {twice!r} is given twice in one object; keep one of them")
    return seen


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _parse_yaml(text: str) -> Any:
    _check_size(text)
    return yaml.load(text, Loader=_StrictLoader)


def _check_size(text: str) -> None:
    """Nesting that would overflow the stack of the loader, and aliases of aliases of aliases."""
    known: dict[str, int] = {}
    anchors: list[str | None] = []
    sizes = [0]
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                raise _Refused(f"*{event.anchor} refers to itself")
            sizes[-1] += known.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
        elif isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            sizes.append(1)
            if len(sizes) > MAX_DEPTH:
                raise _Refused("nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            size, anchor = sizes.pop(), anchors.pop()
            sizes[-1] += size
            if anchor is not None:
                known[anchor] = size
        if sizes[-1] > MAX_NODES:
            raise _Refused(f"holds more than {MAX_NODES:,} values")


class _StrictLoader(_Loader):  # type: ignore[misc]  # the C loader when PyYAML has it
    """SafeLoader without silent overwrites and without YAML 1.1 surprises."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if not tag.endswith((":bool", ":float", ":timestamp", ":int"))
        ]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a plain word or number", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is given twice; keep one of them", key_node.start_mark
                )
            seen.add(key)
        result: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return result


def _resolve(tag: str, pattern: str, first: str) -> None:
    _StrictLoader.add_implicit_resolver(tag, re.compile(pattern), list(first))


_resolve("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_resolve("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789")
_resolve(
    "tag:yaml.org,2002:float",
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    "-+0123456789.",
)
