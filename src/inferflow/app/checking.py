"""Everything that is wrong with a project's files, found without loading any feature data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from inferflow.app.golden import expectation_from
from inferflow.app.project import (
    CONFIG_SUFFIXES,
    EXPRESSIONS_FILE,
    SCHEMA_FILE,
    Finding,
    Project,
    read_config_file,
    read_project,
)
from inferflow.app.settings import FILE as SETTINGS_FILE
from inferflow.app.settings import Settings, read_settings
from inferflow.app.wiring import compile_project, open_models
from inferflow.engine.binding import Binder
from inferflow.engine.request import request_from
from inferflow.errors import InferflowError, InvalidInput, InvalidRequest
from inferflow.featurestore.batch import RawColumn, batch_of_table
from inferflow.featurestore.tables import column_names
from inferflow.plan.compiler import Compiled
from inferflow.plan.document import read_document
from inferflow.plan.problems import Problem, closest_hint
from inferflow.serving.runtime import ModelRepository


def check_project(root: Path) -> list[Finding]:
    """Every problem of a project, by file."""
    project = read_project(root)
    findings = list(project.findings)
    settings = _settings(root, findings)
    compiled = _compiled(project, settings, findings)
    findings += _odd_model_folders(project)
    for entity, group, path in project.data_files():
        findings += _data_problems(project, entity, group, path)
    for _, path in project.requests():
        findings += _request_problems(project, compiled, path)
    return findings


def check_file(path: Path, root: Path) -> list[Finding]:
    """Every problem of one file, seen as part of a project.

    A file outside the project's own folders is taken for a config that may become part of it.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: there is no such file")
    try:
        name = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        name = ""
    if name and not name.startswith("configs/"):
        return [finding for finding in check_project(root) if finding.file == name]
    if path.suffix not in CONFIG_SUFFIXES:
        raise InvalidInput(f"{path}: a config is a {', '.join(CONFIG_SUFFIXES)} file")
    return _config_problems(path, name or str(path.resolve()), root)


def project_of(path: Path) -> Path:
    """The project folder a file belongs to: the nearest one above it that looks like one."""
    for folder in path.resolve().parents:
        if is_project(folder):
            return folder
    raise InvalidInput(
        f"{path}: no folder above it is a project; name the project with --dir, "
        "or keep the file in a project's configs folder"
    )


def is_project(folder: Path) -> bool:
    """Whether a folder has any of the files by which a project is known."""
    marks = (SETTINGS_FILE, SCHEMA_FILE, EXPRESSIONS_FILE, "configs")
    return any((folder / mark).exists() for mark in marks)


# --- configs --------------------------------------------------------------------------------


def _settings(root: Path, findings: list[Finding]) -> Settings:
    try:
        return read_settings(root)
    except InvalidInput as wrong:
        findings.append(Finding(SETTINGS_FILE, Problem("file", str(wrong))))
        return Settings.model_construct()


def _compiled(
    project: Project,
    settings: Settings,
    findings: list[Finding],
    *,
    beside: Collection[str] = (),
) -> dict[str, Compiled]:
    models = open_models(project, settings)
    try:
        compiled = compile_project(project, settings, models, beside=beside)
    finally:
        models.close()
    for config_id, result in compiled.items():
        file = project.configs[config_id].file
        findings += [Finding(file, problem, config_id) for problem in result.problems]
    return compiled


def _config_problems(path: Path, name: str, root: Path) -> list[Finding]:
    """Problems of one config file, and of what every config rests on."""
    project = read_project(root)
    findings = [f for f in project.findings if f.file in (SCHEMA_FILE, EXPRESSIONS_FILE)]
    beside, project.configs = project.configs, {}
    read_config_file(path, name, project.configs, findings)
    _compiled(project, _settings(root, findings), findings, beside=beside)
    return findings


def _odd_model_folders(project: Project) -> list[Finding]:
    return [
        Finding("models", Problem(oddity.where, oddity.what, severity="note"))
        for oddity in ModelRepository(project.models_dir).oddities()
    ]


# --- feature files --------------------------------------------------------------------------


def _data_problems(project: Project, entity: str, group: str, path: Path) -> list[Finding]:
    """Whether a file's name and columns fit the schema; its rows are not looked at."""
    file = f"features/{path.name}"
    try:
        info = project.schema.entity(entity)
        names = column_names(path)
        keys = {name: RawColumn([]) for name in names if name in info.keys}
        features = [name for name in names if name not in info.keys]
    except InferflowError as wrong:
        return [Finding(file, Problem("file", _without_prefix(str(wrong), path)))]
    problems: dict[str, Problem] = {}
    # One feature at a time, so that one wrong column does not hide the next.
    for name in features or [""]:
        try:
            table = {**keys, name: RawColumn([])} if name else keys
            batch_of_table(info, group or None, table, source=path.name)
        except InferflowError as wrong:
            what = _without_prefix(str(wrong), path)
            problems.setdefault(what, Problem(name or "file", what))
    return [Finding(file, problem) for problem in problems.values()]


def _without_prefix(text: str, path: Path) -> str:
    return text.removeprefix(f"{path.name}: ")


# --- requests -------------------------------------------------------------------------------


def _request_problems(project: Project, compiled: dict[str, Compiled], path: Path) -> list[Finding]:
    """Whether a sample request can be read, names a config, and brings what that config needs."""
    file = f"requests/{path.name}"
    try:
        document = read_document(path)
        request = request_from(document)
        expected = expectation_from(document)
        result = compiled.get(request.config_id)
        if result is None:
            raise InvalidRequest(
                "model_config_id",
                f"there is no config {request.config_id!r}",
                closest_hint(request.config_id, project.configs),
            )
        if result.plan is None:
            return []  # its config has been reported
        Binder(result.plan).bind(request)
        answered = dict((*result.plan.response.targets, *result.plan.response.slates))
        for name in expected.columns if expected else ():
            if name not in answered:
                raise InvalidRequest(
                    f"expect[{name!r}]",
                    "the answer has no such column",
                    closest_hint(name, answered),
                )
    except InvalidRequest as wrong:
        return [Finding(file, Problem(wrong.field, wrong.what, wrong.hint))]
    except InferflowError as wrong:
        return [Finding(file, Problem("file", _without_prefix(str(wrong), path)))]
    return []
