"""A bench on a project folder, for a process that serves none of it.

Nothing is loaded and nothing is recorded: features are those that somebody else has loaded, and
versions are for servers to accept. What did not change between two looks is not made again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from inferflow.app.backoffice.bench import Bench, refuse_service, shelf_kind
from inferflow.app.config_stores import open_configs
from inferflow.app.etcd_inputs import AskedInputs
from inferflow.app.inputs import find_project
from inferflow.app.livebook import open_book
from inferflow.app.project import Project
from inferflow.app.settings import Settings, read_settings
from inferflow.app.sources import Sources, look
from inferflow.app.wiring import Embedded, compile_project, open_bare, open_features
from inferflow.engine.ports import FeatureReader
from inferflow.errors import InvalidInput
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.backend import Backend
from inferflow.featurestore.readonly import read_only


class FolderBenches:
    """Asked from any thread. Close it when done."""

    def __init__(self, root: Path, overrides: Mapping[str, Any] | None = None) -> None:
        self._root = root
        self._settings: Settings = read_settings(root, overrides)
        self._embedded: Embedded | None = None
        self._rows: Backend | None = None
        self._seen: Sources | None = None
        self._turn = threading.Lock()

    def bench(self) -> Bench:
        with self._turn:
            return Bench(self._looked())

    @property
    def kind(self) -> str:
        return shelf_kind(self._settings)

    def store(self) -> FeatureStore:
        with self._turn:
            embedded = self._looked()
            if self._rows is None or embedded.store.backend is self._rows or self._is_apart:
                return embedded.store
            return FeatureStore(embedded.store.schema, self._rows)

    def reader(self, store: FeatureStore) -> FeatureReader:
        with self._turn:
            return self._looked().features.over(store)

    def refuse_writing(self) -> None:
        refuse_service(self._settings)
        if self._is_apart:
            raise InvalidInput(
                "this project keeps features in memory, so only those who serve it can change"
                " them; set feature_backend = 'lmdb' in inferflow.toml"
            )

    @property
    def _is_apart(self) -> bool:
        """Whether rows here are not those that others read."""
        return bool(self._settings.onfs.address) or self._settings.feature_backend == "memory"

    def _looked(self) -> Embedded:
        if self._embedded is None:
            self._embedded = open_bare(self._root, self._settings)
            self._rows = self._embedded.store.backend
        self._look(self._embedded)
        return self._embedded

    def _look(self, embedded: Embedded) -> None:
        sources = self._sources()
        if sources == self._seen:
            return
        project = find_project(self._root, self._settings, sources.configs)
        store = self._under(project, embedded)
        compiled = compile_project(project, self._settings, embedded.models)
        ports = embedded.ports(store, project.expressions)
        book = open_book(compiled, ports, self._settings.limits)
        embedded.project, embedded.store, embedded.book = project, store, book
        self._seen = sources

    def _sources(self) -> Sources:
        with ExitStack() as held:
            configs = held.enter_context(closing(open_configs(self._root, self._settings)))
            if not self._settings.etcd.endpoints:
                return look(self._root, configs)
            inputs = held.enter_context(closing(AskedInputs(self._root, self._settings)))
            return look(self._root, configs, inputs=inputs)

    def _under(self, project: Project, embedded: Embedded) -> FeatureStore:
        schema = project.require_schema()
        if schema.digest == embedded.store.schema.digest:
            return embedded.store
        if self._is_apart:
            return open_features(project, self._settings)  # rows of this process, or none
        assert self._rows is not None
        try:
            return FeatureStore(schema, read_only(self._rows))
        except InvalidInput as unknown:  # rows have never been written under this schema
            raise InvalidInput(
                "the project's features have not been loaded yet; serve it, and this will work"
            ) from unknown

    def close(self) -> None:
        with self._turn:
            if self._embedded is not None and self._rows is not None:
                self._embedded.close()
                self._rows.close()
                self._embedded = self._rows = None
