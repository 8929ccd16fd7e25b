"""Where a compute service reads its expressions: a file with all of them, or a folder.

In a folder, `expressions.yaml` is such a file; any other `.json` or `.yaml` file is one expression,
named after the file, as `{"expression": "a b +"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from inferflow.app.project import CONFIG_SUFFIXES, EXPRESSIONS_FILE
from inferflow.errors import InvalidInput
from inferflow.plan.document import read_document


@dataclass(slots=True)
class Written:
    """Expressions as somebody wrote them, good or not."""

    sources: dict[str, Any] = field(default_factory=dict)
    """By compute id."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Why those cannot even be read that are there, by compute id."""


class ExpressionSource(Protocol):
    name: str
    """What people call it."""

    def read(self) -> Written:
        """What is there now. Raises InferflowError when that cannot be told; then whatever was
        there last is as good as before."""
        ...

    def close(self) -> None: ...


class ExpressionFiles:
    """A file or a folder."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def read(self) -> Written:
        if not self._path.is_dir():
            return _book(self._path)
        together = self._path / EXPRESSIONS_FILE
        found = _book(together) if together.exists() else Written()
        for path in sorted(self._path.iterdir()):
            if path != together and path.suffix in CONFIG_SUFFIXES:
                _add(found, path)
        return found

    def close(self) -> None:
        """There is nothing to give back."""


def _book(path: Path) -> Written:
    content = read_document(path)
    if content is not None and not isinstance(content, Mapping):
        raise InvalidInput(f"{path.name}: an object of compute ids is wanted")
    return Written(dict(content or {}))


def _add(found: Written, path: Path) -> None:
    if path.stem in found.sources:
        found.sources.pop(path.stem)
        found.unreadable[path.stem] = f"{path.name}: there is another one with this compute id"
        return
    try:
        found.sources[path.stem] = read_document(path)
    except InvalidInput as broken:
        found.unreadable[path.stem] = str(broken)


def expression_files(root: Path, chosen: str) -> ExpressionFiles:
    """Those of a project, or what is chosen in their place. Raises InvalidInput without any."""
    path = root / (chosen or EXPRESSIONS_FILE)
    if not path.exists():
        raise InvalidInput(f"no {str(path)!r}; name a file or a folder with --expressions")
    return ExpressionFiles(path)
