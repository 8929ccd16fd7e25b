"""A project folder: what is in it, read and checked file by file.

One broken file never hides another: everything that can be read is, and the rest is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from inferflow.compute import ExpressionBook
from inferflow.configstore.folder import SUFFIXES, Folder, read_file, read_folder
from inferflow.configstore.versions import Document
from inferflow.errors import InvalidInput, SchemaInvalid
from inferflow.featurestore.schema import FeatureSchema, parse_schema
from inferflow.plan.document import parse_document
from inferflow.plan.problems import Problem

CONFIG_SUFFIXES = tuple(SUFFIXES)
DATA_SUFFIXES = (".parquet", ".csv")
SCHEMA_FILE = "features/schema.yaml"
EXPRESSIONS_FILE = "expressions.yaml"
NO_SCHEMA = FeatureSchema(MappingProxyType({}), digest="")
"""Of a project that has none, or none that can be read."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and the file it is in."""

    file: str
    problem: Problem
    config_id: str = ""

    def __str__(self) -> str:
        config = f" [{self.config_id}]" if self.config_id else ""
        return f"{self.file}{config}: {self.problem}"

    def as_dict(self) -> dict[str, str]:
        return {"file": self.file, "config_id": self.config_id, **self.problem.as_dict()}


@dataclass(frozen=True, slots=True)
class WrittenConfig:
    id: str
    file: str
    content: Any

    @classmethod
    def of(cls, document: Document) -> WrittenConfig:
        return cls(document.id, document.file, document.content)


@dataclass(slots=True)
class Project:
    root: Path
    schema: FeatureSchema
    expressions: ExpressionBook
    configs: dict[str, WrittenConfig]
    findings: list[Finding] = field(default_factory=list)

    @property
    def models_dir(self) -> Path:
        return self.root / "models"

    def require_schema(self) -> FeatureSchema:
        """The schema, for those who cannot do without. Raises SchemaInvalid when it is broken."""
        broken = [
            f"{finding.problem.where}: {finding.problem.what}"
            for finding in self.findings
            if finding.file == SCHEMA_FILE and finding.problem.is_error
        ]
        if broken:
            raise SchemaInvalid(SCHEMA_FILE, broken)
        return self.schema

    def data_files(self) -> list[tuple[str, str, Path]]:
        """(entity, group, file) of every feature file, by name."""
        folder = self.root / "features"
        if not folder.is_dir():
            return []
        found = []
        for path in sorted(folder.iterdir()):
            if path.suffix in DATA_SUFFIXES:
                entity, _, group = path.stem.partition(".")
                found.append((entity, group, path))
        return found

    def requests(self) -> list[tuple[str, Path]]:
        """(name, file) of every sample request."""
        folder = self.root / "requests"
        if not folder.is_dir():
            return []
        return [(path.stem, path) for path in sorted(folder.glob("*.json"))]


class Inputs(Protocol):
    """What configs are compiled against, as texts. None: there is none, or none that can be read,
    which is a finding then."""

    def schema(self, findings: list[Finding]) -> str | None: ...

    def expressions(self, findings: list[Finding]) -> str | None: ...

    def close(self) -> None: ...


class FolderInputs:
    """The files of a folder. Implements `Inputs`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def schema(self, findings: list[Finding]) -> str | None:
        return source_text(self._root, SCHEMA_FILE, findings)

    def expressions(self, findings: list[Finding]) -> str | None:
        return source_text(self._root, EXPRESSIONS_FILE, findings)

    def close(self) -> None:
        """There is nothing to give back."""


def read_project(
    root: Path, configs: Folder | None = None, inputs: Inputs | None = None
) -> Project:
    """Read a project folder. What cannot be read becomes a finding, not an exception. With
    `configs` or `inputs`, those count, wherever they are from, and not the ones in the folder."""
    if not root.is_dir():
        raise InvalidInput(f"{root}: there is no such folder")
    findings: list[Finding] = []
    inputs = inputs or FolderInputs(root)
    schema = schema_of(inputs.schema(findings), findings)
    expressions = expressions_of(inputs.expressions(findings), findings)
    return Project(
        root=root,
        schema=NO_SCHEMA if schema is None else schema,
        expressions=ExpressionBook({}) if expressions is None else expressions,
        configs=_by_id(read_folder(root / "configs") if configs is None else configs, findings),
        findings=findings,
    )


def source_text(root: Path, name: str, findings: list[Finding]) -> str | None:
    """What a file of the project says; None when it is not there or cannot be read."""
    try:
        return (root / name).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as unreadable:
        findings.append(Finding(name, Problem("file", f"cannot be read: {unreadable}")))
        return None


def schema_of(text: str | None, findings: list[Finding]) -> FeatureSchema | None:
    """The schema a text declares; None when there is something wrong with it."""
    if text is None:
        return NO_SCHEMA
    try:
        return parse_schema(parse_document(text, name=Path(SCHEMA_FILE).name, is_json=False))
    except SchemaInvalid as invalid:
        findings += [Finding(SCHEMA_FILE, _located(problem)) for problem in invalid.problems]
    except InvalidInput as broken:
        findings.append(Finding(SCHEMA_FILE, Problem("file", str(broken))))
    return None


def _located(problem: str) -> Problem:
    where, _, what = problem.partition(": ")
    return Problem(where, what) if what else Problem("schema", problem)


def expressions_of(text: str | None, findings: list[Finding]) -> ExpressionBook | None:
    """The expressions a text holds, each good or with its problem; None when it is no such
    text at all."""
    name = EXPRESSIONS_FILE
    content: Any = None
    if text is not None:
        try:
            content = parse_document(text, name=name, is_json=False)
        except InvalidInput as broken:
            findings.append(Finding(name, Problem("file", str(broken))))
            return None
    if content is not None and not isinstance(content, Mapping):
        findings.append(Finding(name, Problem("file", "an object of compute ids is wanted")))
        return None
    book = ExpressionBook(content or {})
    findings += expression_findings(book)
    return book


def expression_findings(book: ExpressionBook) -> list[Finding]:
    return [
        Finding(EXPRESSIONS_FILE, Problem(compute_id, wrong.what, wrong.hint))
        for compute_id, wrong in book.problems
    ]


def _by_id(found: Folder, findings: list[Finding]) -> dict[str, WrittenConfig]:
    findings += [
        Finding(each.file, Problem("file", each.what), each.id) for each in found.unreadable
    ]
    return {each.id: WrittenConfig.of(each) for each in found.documents.values()}


def read_config_file(
    path: Path, name: str, configs: dict[str, WrittenConfig], findings: list[Finding]
) -> None:
    """Add the configs of one file."""
    try:
        found = read_file(path, name)
    except InvalidInput as broken:
        findings.append(Finding(name, Problem("file", str(broken)), path.stem))
        return
    configs.update({each.id: WrittenConfig.of(each) for each in found})
