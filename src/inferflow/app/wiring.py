"""Plugs the embedded parts together: the one place that knows them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from inferflow.app.catalog import ProjectCatalog
from inferflow.app.inputs import find_project
from inferflow.app.livebook import open_book
from inferflow.app.loaded_files import Beside, LoadedFiles, Within
from inferflow.app.loading import Progress, load_features
from inferflow.app.places import feature_dir
from inferflow.app.project import NO_SCHEMA, Finding, Project
from inferflow.app.project_compute import ProjectCompute
from inferflow.app.project_features import ProjectFeatures
from inferflow.app.project_models import ProjectModels, open_remote_models
from inferflow.app.settings import Settings, read_settings
from inferflow.app.upkeep import Upkeep
from inferflow.components.assemble import Ports
from inferflow.components.cache import FeatureCache
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.errors import InvalidInput
from inferflow.featurestore import FeatureStore, MemoryBackend
from inferflow.featurestore.backend import Backend
from inferflow.plan.book import PlanBook
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.schema import ServiceDoc
from inferflow.plan.split import arm_problems
from inferflow.serving.runtime import EmbeddedModels, ModelRepository


@dataclass(slots=True)
class Embedded:
    """Everything an open project holds."""

    project: Project
    settings: Settings
    store: FeatureStore
    models: ProjectModels
    book: PlanBook[Scorer]
    findings: list[Finding]
    cache: FeatureCache
    observer: Observer | None = None
    upkeep: Upkeep | None = None
    why_nothing: Callable[[], str] = lambda: ""
    """Why there are no configs, where somebody knows."""
    service: ServiceDoc = field(init=False)
    """How log messages are written; etcd may say something else than the settings."""
    compute: ProjectCompute = field(init=False)
    features: ProjectFeatures = field(init=False)

    def __post_init__(self) -> None:
        self.service = self.settings.service
        self.compute = ProjectCompute(self.settings)
        self.features = ProjectFeatures(self.settings)

    def not_ready(self) -> str:
        """Why nothing can be answered; empty when something can."""
        if self.book.ids:
            return ""
        why = self.why_nothing()
        return f"no model config is live: {why}" if why else "no model config is live"

    def ports(self, store: FeatureStore, expressions: ExpressionBook) -> Ports:
        """What plans are put to work with, on this store and these expressions."""
        return Ports(
            features=self.features.over(store),
            models=self.models,
            compute=self.compute.over(expressions),
            cache=self.cache,
            defaults=self.settings.step_defaults,
            calibrate=EmbeddedCompute(expressions),
        )

    def close(self) -> None:
        if self.upkeep is not None:
            self.upkeep.close()
        self.models.close()
        self.compute.close()
        self.features.close()
        self.store.backend.close()


def open_embedded(
    root: Path,
    overrides: Mapping[str, Any] | None = None,
    *,
    project: Project | None = None,
    progress: Progress | None = None,
    observer: Observer | None = None,
) -> Embedded:
    """Read a project (or take it as read), load its features, compile its configs. What is in
    etcd is as it is now."""
    settings = read_settings(root, overrides)
    project = project or find_project(root, settings)
    store = open_features(project, settings, progress=progress)
    models = open_models(project, settings)
    cache = FeatureCache(settings.cache_size_mb)
    opened = Embedded(project, settings, store, models, PlanBook(), [], cache, observer)
    try:
        compiled = compile_project(project, settings, models)
        ports = opened.ports(store, project.expressions)
        opened.book = open_book(compiled, ports, settings.limits, observer=observer)
        opened.findings = findings_of(project, opened.book)
        opened.upkeep = _upkeep(settings, models)
    except BaseException:
        opened.close()
        raise
    return opened


def open_bare(root: Path, settings: Settings, *, observer: Observer | None = None) -> Embedded:
    """What an open project holds before any of its files is read: no schema, no plans. For a
    process that is told what to serve, on features that somebody else has loaded."""
    project = Project(root, NO_SCHEMA, ExpressionBook({}), {})
    is_elsewhere = bool(settings.onfs.address)
    backend = MemoryBackend() if is_elsewhere else open_backend(root, settings)
    store = FeatureStore(NO_SCHEMA, backend)
    models = open_models(project, settings)
    cache = FeatureCache(settings.cache_size_mb)
    upkeep = _upkeep(settings, models)
    return Embedded(project, settings, store, models, PlanBook(), [], cache, observer, upkeep)


def _upkeep(settings: Settings, models: ProjectModels) -> Upkeep | None:
    """Looks for idle models twice per idle time, when there is one."""
    idle_ms = settings.model_idle_unload
    return None if idle_ms is None else Upkeep(models.unload_idle, max(0.05, idle_ms / 2000))


def open_features(
    project: Project, settings: Settings, *, progress: Progress | None = None
) -> FeatureStore:
    """The store that plans are compiled against, and read from unless a service has the features:
    then it has no rows."""
    if settings.onfs.address:
        return FeatureStore(project.require_schema(), MemoryBackend())
    return open_store(project, settings, progress=progress)


def open_store(
    project: Project, settings: Settings, *, progress: Progress | None = None
) -> FeatureStore:
    """The project's feature store with its feature files loaded. The caller closes its backend."""
    schema = project.require_schema()
    backend = open_backend(project.root, settings)
    try:
        store = FeatureStore(schema, backend)
        loaded = loaded_files(project.root, settings, backend)
        load_features(project, store, loaded=loaded, progress=progress)
    except BaseException:
        backend.close()
        raise
    return store


def open_models(project: Project, settings: Settings) -> ProjectModels:
    idle_ms = settings.model_idle_unload
    embedded = EmbeddedModels(
        ModelRepository(project.models_dir),
        intra_op_threads=settings.model_threads,
        idle_unload_s=None if idle_ms is None else idle_ms / 1000,
    )
    return ProjectModels(embedded, partial(open_remote_models, settings))


def open_backend(root: Path, settings: Settings) -> Backend:
    if settings.feature_backend == "memory":
        return MemoryBackend()
    if settings.feature_backend == "redis":
        from inferflow.featurestore.redis import RedisBackend

        return RedisBackend(settings.redis.options)
    from inferflow.featurestore.lmdb import LmdbBackend

    folder = feature_dir(root, settings)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InvalidInput(
            f"{folder.parent}: cannot be created: {refused.strerror}; set INFERFLOW_DATA_DIR"
        ) from refused
    return LmdbBackend(folder)


def loaded_files(root: Path, settings: Settings, backend: Backend) -> LoadedFiles | None:
    """Where loaded files are remembered; nowhere when the store forgets them too."""
    match settings.feature_backend:
        case "memory":
            return None
        case "redis":
            return Within(backend)
    return Beside(feature_dir(root, settings) / "loaded.json")


def compile_project(
    project: Project,
    settings: Settings,
    models: ProjectModels,
    *,
    beside: Collection[str] = (),
) -> dict[str, Compiled]:
    """Every config of a project, compiled. `beside` are ids of configs that are elsewhere."""
    catalog = ProjectCatalog(project.schema, models, project.expressions, settings)
    compiled = {
        config.id: compile_config(config.id, config.content, catalog)
        for config in project.configs.values()
    }
    return check_arms(compiled, beside=beside)


def check_arms(
    compiled: Mapping[str, Compiled], *, beside: Collection[str] = ()
) -> dict[str, Compiled]:
    """The same, where splits that name what is no config have a problem more."""
    splits = {config_id for config_id, result in compiled.items() if result.split is not None}
    configs = {*compiled, *beside}
    checked = dict(compiled)
    for config_id, result in compiled.items():
        if result.split is not None:
            more = arm_problems(result.split, configs, splits)
            checked[config_id] = replace(result, problems=(*result.problems, *more))
    return checked


def findings_of(project: Project, book: PlanBook[Scorer]) -> list[Finding]:
    """Everything worth saying about a project and its plans."""
    return [
        *project.findings,
        *(
            Finding(project.configs[config_id].file, problem, config_id)
            for config_id, result in book.status.items()
            if config_id in project.configs
            for problem in result.problems
        ),
    ]
