"""The store a feature service answers from: its rows under the newest good schema.

A schema that is wrong, or that the project's feature files do not fit, changes nothing. A call
that has begun goes on under the schema it began with. Rows in another process may be out of reach
when it is made: they are then looked for at every `check`.
"""

from __future__ import annotations

import logging
from pathlib import Path

from inferflow.app.loading import load_features
from inferflow.app.project import (
    NO_SCHEMA,
    SCHEMA_FILE,
    Finding,
    Project,
    read_project,
    schema_of,
)
from inferflow.app.schema_sources import open_schema
from inferflow.app.settings import Settings
from inferflow.app.wiring import loaded_files, open_store
from inferflow.errors import InferflowError, StoreUnreachable
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.backend import RemoteBackend
from inferflow.featurestore.history import check_format

log = logging.getLogger(__name__)


class LiveStore:
    """Asked from any thread; `look` and `check` are for one at a time. Close it when done."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._text: str | None = None
        self._store: FeatureStore | None = None
        self._schema = open_schema(root, settings)
        self.away = ""
        """Why rows cannot be had, when they cannot."""
        try:
            self._open()
        except BaseException:
            self._schema.close()
            raise

    def find(self) -> FeatureStore:
        """Raises StoreUnreachable when it was never there."""
        if self._store is None:
            raise StoreUnreachable(self.away)
        return self._store

    @property
    def is_remote(self) -> bool:
        """Whether rows or schema are in another process, which may go away."""
        is_near = self._store is not None and not isinstance(self._store.backend, RemoteBackend)
        return self._schema.is_elsewhere or not is_near

    def look(self) -> bool:
        """Take up a schema that has changed; says whether there was one."""
        if self._store is None:
            return False
        findings: list[Finding] = []
        text = self._schema.read(findings)
        if text == self._text or findings:
            return False
        self._text = text
        schema = schema_of(text, findings)
        if schema is None or schema.digest == self._store.schema.digest:
            for finding in findings:
                log.warning("refused: %s", finding)
            return False
        try:
            store = self._store.with_schema(schema)
            loaded = loaded_files(self._root, self._settings, store.backend)
            load_features(read_project(self._root), store, loaded=loaded)
        except InferflowError as refused:
            log.warning("refused: %s: %s", SCHEMA_FILE, refused)
            return False
        self._store = store
        self._schema.keep(text)
        log.info("schema_taken_up", extra={"entities": len(schema.entities)})
        return True

    def check(self) -> None:
        """Find out whether rows can be had."""
        try:
            if self._store is None:
                self._open()
            else:
                check_format(self._store.backend)
                self.away = self._why_empty(self._store)
        except InferflowError as failed:
            self.away = str(failed)

    def _open(self) -> None:
        """Raises what is wrong with the settings or the project; being out of reach is not."""
        findings: list[Finding] = []
        text = self._schema.read(findings)
        try:
            store = open_store(self._project(text, findings), self._settings)
        except StoreUnreachable as away:
            self.away = str(away)
            return
        self._store, self._text, self.away = store, text, self._why_empty(store)
        if not findings:
            self._schema.keep(text)

    def _project(self, text: str | None, findings: list[Finding]) -> Project:
        """The folder with its schema, wherever that is. One in etcd that is wrong gives way to
        the last good one: whoever mends it is not here."""
        project = read_project(self._root)
        if self._schema.is_elsewhere:
            schema = schema_of(text, findings)
            for finding in findings:
                log.warning("refused: %s", finding)
            project.schema = schema or schema_of(self._schema.kept(), []) or NO_SCHEMA
        return project

    def _why_empty(self, store: FeatureStore) -> str:
        """A schema that is still to come is worth waiting for."""
        if store.schema.entities or not self._schema.is_elsewhere:
            return ""
        return f"there is no feature schema: {self._schema.why_none()}"

    def close(self) -> None:
        self._schema.close()
        if self._store is not None:
            self._store.backend.close()
