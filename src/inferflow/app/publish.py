"""Pushing a config: compiled, tried on its golden requests, and only then stored.

Requests with an `expect` that name the config are scored by the candidate, with the features the
project has now unless the request brings its own; one that does not get what it expects blocks
the push. `force` pushes all the same, and the history says so. A rollback is checked by compiling
alone: the requests describe the version that is being left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inferflow.app.config_stores import open_configs
from inferflow.app.flow import Flow
from inferflow.app.golden import Outcome, run_requests
from inferflow.app.inputs import find_project
from inferflow.app.project import Project, WrittenConfig
from inferflow.app.settings import read_settings
from inferflow.app.wiring import compile_project, open_embedded, open_models
from inferflow.configstore import ConfigStore, Document, Draft, Version, find_version
from inferflow.configstore.folder import documents_of
from inferflow.configstore.versions import Checks, Expected, Format, Origin
from inferflow.errors import (
    GoldenFailed,
    InferflowError,
    InvalidInput,
    NotFound,
    PlanRejected,
)
from inferflow.plan.compiler import Compiled
from inferflow.plan.document import read_document
from inferflow.plan.problems import Problem
from inferflow.telemetry.audit import audited

Overrides = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Published:
    """A push that was accepted."""

    version: Version
    outcomes: tuple[Outcome, ...]
    """How its golden requests went."""
    notes: tuple[Problem, ...]
    """What the compiler had to say."""


def push(
    root: Path,
    text: str,
    format: Format,
    *,
    author: str,
    config_id: str = "",
    stem: str = "",
    expected: Expected | None = None,
    force: bool = False,
    note: str = "",
    overrides: Overrides = None,
) -> Published:
    """Check a text and make it the config. The id is the one in the text unless given; `stem` is
    the id of a text that names none. `overrides` are settings that count over the project's.

    Raises PlanRejected, GoldenFailed, VersionConflict or InvalidInput; nothing was changed then.
    """
    document = only_document(text, format, config_id or stem)
    if config_id and document.id != config_id:
        raise InvalidInput(f"the text holds {document.id!r}, not {config_id!r}")
    settings = read_settings(root, overrides)
    with closing(open_configs(root, settings)) as store:
        project = find_project(root, settings, store.current())
        checked = check(
            project, document, author=author, force=force, note=note, overrides=overrides
        )
        version = store.push(checked.draft, expected=expected)
    audited("config pushed", by=author, subject=f"{document.id} {version.number}")
    return Published(version, checked.outcomes, checked.notes)


@dataclass(frozen=True, slots=True)
class Checked:
    """A config that may be pushed."""

    draft: Draft
    outcomes: tuple[Outcome, ...]
    """How its golden requests went."""
    notes: tuple[Problem, ...]
    """What the compiler had to say."""


def check(
    project: Project,
    document: Document,
    *,
    author: str,
    force: bool = False,
    note: str = "",
    overrides: Overrides = None,
) -> Checked:
    """Compile a config beside the project's others, and run its golden requests. Raises
    PlanRejected or GoldenFailed."""
    requests = expecting(project, document.id)
    compiled, outcomes = _tried(project, document, requests, overrides)
    draft = _drafted(document, author, outcomes, force=force, note=note)
    return Checked(draft, tuple(outcomes), compiled.problems)


def _drafted(
    document: Document, author: str, outcomes: Sequence[Outcome], *, force: bool, note: str
) -> Draft:
    """The draft, saying how it was checked. Raises GoldenFailed unless it may fail."""
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if failed and not force:
        raise GoldenFailed(document.id, failed)
    checks: Checks = "forced" if failed else "golden" if outcomes else "compiled"
    if failed:
        names = ", ".join(outcome.request for outcome in failed)
        note = f"{note}; forced past {names}" if note else f"forced past {names}"
    return _draft(document, author, "push", checks, note)


def roll_back(
    root: Path,
    config_id: str,
    to: Expected | None = None,
    *,
    author: str,
    expected: Expected | None = None,
    overrides: Overrides = None,
) -> Published:
    """Make an earlier version the config again, as a new version. Without `to`, the newest one
    whose text is another than the config has now."""
    settings = read_settings(root, overrides)
    with closing(open_configs(root, settings)) as store:
        version = _before(store, config_id) if to is None else _named(store, config_id, to)
        document = only_document(store.text(version), version.format, config_id)
        project = find_project(root, settings, store.current())
        compiled, _ = _tried(project, document, [], overrides)
        note = f"back to version {version.number}"
        draft = _draft(document, author, "rollback", "compiled", note)
        pushed = store.push(draft, expected=expected)
    audited("config rolled back", by=author, subject=f"{config_id} {pushed.number}")
    return Published(pushed, (), compiled.problems)


def _named(store: ConfigStore, config_id: str, wanted: Expected) -> Version:
    return find_version(config_id, store.history(config_id), wanted)


def _before(store: ConfigStore, config_id: str) -> Version:
    versions = store.history(config_id)
    try:
        now = store.get(config_id).hash
    except InferflowError as failed:  # it is gone or broken, so every version is another
        if isinstance(failed, NotFound) and not versions:
            raise
        now = ""
    for version in reversed(versions):
        if not version.is_removal and version.hash != now:
            return version
    raise InvalidInput(f"config {config_id!r} has no other version to go back to")


def _draft(document: Document, author: str, origin: Origin, checks: Checks, note: str) -> Draft:
    return Draft(document.id, document.text, document.format, author, origin, checks, note)


def only_document(text: str, format: Format, stem: str) -> Document:
    """The one config a text holds. Raises InvalidInput when it holds none, or several."""
    found = documents_of(text, format, stem=stem, file=f"{stem or 'the text'}.{format}")
    if len(found) > 1:
        listed = ", ".join(repr(each.id) for each in found)
        raise InvalidInput(f"the text holds several configs: {listed}; push them one by one")
    return found[0]


def expecting(project: Project, config_id: str) -> list[tuple[str, Path]]:
    """Requests that name the config and expect something. One that cannot be read names nobody:
    `validate` reports it."""
    found: list[tuple[str, Path]] = []
    for name, path in project.requests():
        try:
            document = read_document(path)
        except InferflowError:
            continue
        names_it = isinstance(document, dict) and document.get("model_config_id") == config_id
        if names_it and "expect" in document:
            found.append((name, path))
    return found


def _tried(
    project: Project,
    document: Document,
    requests: Sequence[tuple[str, Path]],
    overrides: Overrides,
) -> tuple[Compiled, list[Outcome]]:
    """The candidate compiled beside the project's other configs, and run on its requests. Raises
    PlanRejected when it cannot serve."""
    others = {key: each for key, each in project.configs.items() if key != document.id}
    project = replace(project, configs={document.id: WrittenConfig.of(document)})
    settings = read_settings(project.root, overrides)
    models = open_models(project, settings)
    try:
        compiled = compile_project(project, settings, models, beside=others)[document.id]
    finally:
        models.close()
    if compiled.errors:
        raise PlanRejected(document.id, compiled.errors)
    if not requests:
        return compiled, []
    if compiled.split is not None:
        project.configs |= {arm: others[arm] for arm in compiled.split.arms}
    with Flow(open_embedded(project.root, overrides, project=project)) as flow:
        return compiled, run_requests(flow, requests)
