"""A project folder: what is in it, read and checked file by file.

One broken file never hides another: everything that can be read is, and the rest is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inferflow.compute import ExpressionBook
from inferflow.errors import InvalidInput, SchemaInvalid
from inferflow.featurestore.schema import FeatureSchema, parse_schema
from inferflow.plan.document import read_document
from inferflow.plan.normalise import unwrap
from inferflow.plan.problems import Problem

CONFIG_SUFFIXES = (".json", ".yaml", ".yml")
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


def read_project(root: Path) -> Project:
    """Read a project folder. What cannot be read becomes a finding, not an exception."""
    if not root.is_dir():
        raise InvalidInput(f"{root}: there is no such folder")
    findings: list[Finding] = []
    return Project(
        root=root,
        schema=_schema(root, findings),
        expressions=_expressions(root, findings),
        configs=read_configs(root / "configs", findings),
        findings=findings,
    )


def _schema(root: Path, findings: list[Finding]) -> FeatureSchema:
    path = root / SCHEMA_FILE
    if path.exists():
        try:
            return parse_schema(read_document(path))
        except SchemaInvalid as invalid:
            findings += [Finding(SCHEMA_FILE, _located(problem)) for problem in invalid.problems]
        except InvalidInput as broken:
            findings.append(Finding(SCHEMA_FILE, Problem("file", str(broken))))
    return NO_SCHEMA


def _located(problem: str) -> Problem:
    where, _, what = problem.partition(": ")
    return Problem(where, what) if what else Problem("schema", problem)


def _expressions(root: Path, findings: list[Finding]) -> ExpressionBook:
    name = EXPRESSIONS_FILE
    path = root / name
    sources: Mapping[Any, Any] = {}
    if path.exists():
        try:
            content = read_document(path)
        except InvalidInput as broken:
            findings.append(Finding(name, Problem("file", str(broken))))
        else:
            if isinstance(content, Mapping):
                sources = content
            elif content is not None:
                findings.append(
                    Finding(name, Problem("file", "an object of compute ids is wanted"))
                )
    book = ExpressionBook(sources)
    findings += [
        Finding(name, Problem(compute_id, wrong.what, wrong.hint))
        for compute_id, wrong in book.problems
    ]
    return book


def read_configs(folder: Path, findings: list[Finding]) -> dict[str, WrittenConfig]:
    """Every config of a folder by id."""
    configs: dict[str, WrittenConfig] = {}
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix in CONFIG_SUFFIXES:
                read_config_file(path, f"configs/{path.name}", configs, findings)
    return configs


def read_config_file(
    path: Path, name: str, configs: dict[str, WrittenConfig], findings: list[Finding]
) -> None:
    try:
        found = unwrap(read_document(path), path.stem)
    except InvalidInput as broken:
        findings.append(Finding(name, Problem("file", str(broken)), path.stem))
        return
    for config_id, content in found.items():
        if config_id in configs:
            other = configs[config_id].file
            findings.append(
                Finding(name, Problem("file", f"{config_id!r} is also in {other}"), config_id)
            )
        else:
            configs[config_id] = WrittenConfig(config_id, name, content)
