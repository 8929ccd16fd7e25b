"""Plugs the embedded parts together: the one place that knows them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferflow.app.catalog import ProjectCatalog
from inferflow.app.loading import Progress, load_features
from inferflow.app.places import feature_dir
from inferflow.app.project import SCHEMA_FILE, Finding, Project, read_project
from inferflow.app.settings import Settings, read_settings
from inferflow.components.assemble import Ports, assemble
from inferflow.components.cache import FeatureCache
from inferflow.compute import EmbeddedCompute
from inferflow.engine.scorer import Scorer
from inferflow.errors import InferflowError, InvalidInput, SchemaInvalid
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.backend import Backend
from inferflow.plan.book import PlanBook
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.problems import Problem
from inferflow.serving.runtime import EmbeddedModels, ModelRepository


@dataclass(slots=True)
class Embedded:
    """Everything an open project holds."""

    project: Project
    settings: Settings
    store: FeatureStore
    models: EmbeddedModels
    book: PlanBook[Scorer]
    findings: list[Finding]

    def close(self) -> None:
        self.models.close()
        self.store.backend.close()


def open_embedded(
    root: Path, overrides: Mapping[str, Any] | None = None, *, progress: Progress | None = None
) -> Embedded:
    """Read a project, load its features, compile its configs."""
    settings = read_settings(root, overrides)
    project = read_project(root)
    store = open_store(project, settings, progress=progress)
    models = open_models(project, settings)
    try:
        findings = list(project.findings)
        compiled = compile_project(project, settings, models)
        book = bring_live(compiled, project, settings, store, models, findings)
    except BaseException:
        models.close()
        store.backend.close()
        raise
    return Embedded(project, settings, store, models, book, findings)


def open_store(
    project: Project, settings: Settings, *, progress: Progress | None = None
) -> FeatureStore:
    """The project's feature store with its feature files loaded. The caller closes its backend."""
    broken = [f.problem for f in project.findings if f.file == SCHEMA_FILE and f.problem.is_error]
    if broken:  # nothing can be read or loaded by a schema that is not there
        raise SchemaInvalid(SCHEMA_FILE, [f"{problem.where}: {problem.what}" for problem in broken])
    backend = open_backend(project.root, settings)
    try:
        store = FeatureStore(project.schema, backend)
        state = _import_state(project.root, settings)
        load_features(project, store, state=state, progress=progress)
    except BaseException:
        backend.close()
        raise
    return store


def open_models(project: Project, settings: Settings) -> EmbeddedModels:
    idle_ms = settings.model_idle_unload
    return EmbeddedModels(
        ModelRepository(project.models_dir),
        intra_op_threads=settings.model_threads,
        idle_unload_s=None if idle_ms is None else idle_ms / 1000,
    )


def open_backend(root: Path, settings: Settings) -> Backend:
    if settings.feature_backend == "memory":
        from inferflow.featurestore.memory import MemoryBackend

        return MemoryBackend()
    from inferflow.featurestore.lmdb import LmdbBackend

    folder = feature_dir(root, settings)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InvalidInput(
            f"{folder.parent}: cannot be created: {refused.strerror}; set INFERFLOW_DATA_DIR"
        ) from refused
    return LmdbBackend(folder)


def _import_state(root: Path, settings: Settings) -> Path | None:
    """Where loaded files are remembered; nowhere when the store forgets them too."""
    if settings.feature_backend == "memory":
        return None
    return feature_dir(root, settings) / "loaded.json"


def compile_project(
    project: Project, settings: Settings, models: EmbeddedModels
) -> dict[str, Compiled]:
    catalog = ProjectCatalog(project.schema, models, project.expressions, settings.endpoints)
    return {
        config.id: compile_config(config.id, config.content, catalog)
        for config in project.configs.values()
    }


def bring_live(
    compiled: Mapping[str, Compiled],
    project: Project,
    settings: Settings,
    store: FeatureStore,
    models: EmbeddedModels,
    findings: list[Finding],
) -> PlanBook[Scorer]:
    """Put every good plan to work; a bad one is reported and touches no other."""
    ports = Ports(
        features=store,
        models=models,
        compute=EmbeddedCompute(project.expressions),
        cache=FeatureCache(settings.cache_size_mb),
    )
    live: dict[str, Scorer] = {}
    status = dict(compiled)
    for config_id, result in compiled.items():
        file = project.configs[config_id].file
        findings += [Finding(file, problem, config_id) for problem in result.problems]
        if result.plan is None:
            continue
        try:
            components = assemble(result.plan, ports)
        except InferflowError as refused:
            problem = Problem("plan", str(refused))
            findings.append(Finding(file, problem, config_id))
            status[config_id] = Compiled(config_id, None, (*result.problems, problem))
            continue
        live[config_id] = Scorer(result.plan, components, limits=settings.limits)
    return PlanBook(live, status)
