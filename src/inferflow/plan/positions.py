"""Where in a text a problem is: its `where`, walked through the structure of the text itself.

As far as the way can be found: of a key that is missing, its place is where it is missing. Lines
and columns count from 1, as editors show them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from inferflow.errors import InvalidInput
from inferflow.plan.problems import Problem

_PART = re.compile(
    r"""\[(?P<index>\d+)\]"""
    r"""|\[(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]"""
    r"""|(?P<name>[^.\[\]]+)"""
)
_COMPONENTS = "component_config"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Node = Any
"""A node of YAML. JSON is read as YAML too, whose marks it lacks."""


@dataclass(frozen=True, slots=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Located(Problem):
    """A problem and its place in the text, where that is known."""

    line: int | None = None
    column: int | None = None


class Positions:
    """Places in a text that has been parsed, so that it is known to be well formed and small."""

    def __init__(self, text: str, config_id: str) -> None:
        # A tab is white space to JSON and none to YAML; one blank takes as many columns.
        self._root: Node = yaml.compose(text.replace("\t", " "), Loader=_Loader)
        self._start = _at(self._root)
        found = _entry(self._root, config_id)
        if found is not None and isinstance(found[1], yaml.MappingNode):
            self._start, self._root = _at(found[0]), found[1]
        self._components = dict(_components(self._root))

    def of(self, where: str) -> Position:
        """The deepest place on the way that is there; the config's own for one that is nowhere."""
        at, node, rest = self._start, self._root, where
        inside = rest.removeprefix(f"{_COMPONENTS}.")
        for name in sorted(self._components, key=len, reverse=True):
            if inside == name or inside.startswith((f"{name}.", f"{name}[")):
                (key, node), rest = self._components[name], inside[len(name) :]
                at = _at(key)
                break
        for part in _parts(rest):
            found = _entry(node, part)
            if found is None:
                break
            at, node = _at(found[0]), found[1]
        return at

    def located(self, problem: Problem) -> Located:
        return Located(**asdict(problem), **asdict(self.of(problem.where)))


def failed_at(refused: InvalidInput) -> Position | None:
    """Where a text stopped being well formed, when its parser said so."""
    cause = refused.__cause__
    if isinstance(cause, json.JSONDecodeError):
        return Position(cause.lineno, cause.colno)
    if isinstance(cause, yaml.MarkedYAMLError) and cause.problem_mark is not None:
        return Position(cause.problem_mark.line + 1, cause.problem_mark.column + 1)
    return None


def _at(node: Node) -> Position:
    if node is None:
        return Position(1, 1)
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


def _parts(where: str) -> Iterator[str | int]:
    for part in _PART.finditer(where):
        if part["index"] is not None:
            yield int(part["index"])
        elif part["quoted"] is not None:
            yield str(ast.literal_eval(part["quoted"]))
        else:
            yield part["name"]


def _entry(node: Node, part: str | int) -> tuple[Node, Node] | None:
    """What to point at, and where to go on, for one step into a node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def _components(config: Node) -> Iterator[tuple[str, tuple[Node, Node]]]:
    """Components by name, in either shape: a problem names a component, not its kind."""
    found = _entry(config, _COMPONENTS)
    if found is None or not isinstance(found[1], yaml.MappingNode):
        return
    for _, kind in found[1].value:
        if isinstance(kind, yaml.MappingNode):
            yield from ((key.value, (key, value)) for key, value in kind.value)
        elif isinstance(kind, yaml.SequenceNode):
            for each in kind.value:
                name = _entry(each, "component")
                if name is not None and isinstance(name[1], yaml.ScalarNode):
                    yield name[1].value, (each, each)
