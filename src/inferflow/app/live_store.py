"""The store a feature service answers from: its rows under the newest good schema.

A schema that is wrong, or that the project's feature files do not fit, changes nothing. A call
that has begun goes on under the schema it began with.
"""

from __future__ import annotations

import logging
from pathlib import Path

from inferflow.app.loading import load_features
from inferflow.app.project import SCHEMA_FILE, Finding, read_project, schema_of, source_text
from inferflow.app.settings import Settings
from inferflow.app.wiring import loaded_files, open_store
from inferflow.errors import InferflowError
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.backend import RemoteBackend
from inferflow.featurestore.history import check_format

log = logging.getLogger(__name__)


class LiveStore:
    """Asked from any thread; `look` and `check` are for one at a time. Close it when done."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._text = source_text(root, SCHEMA_FILE, [])
        self._store = open_store(read_project(root), settings)
        self.away = ""
        """Why rows cannot be had, when they cannot."""

    def find(self) -> FeatureStore:
        return self._store

    @property
    def is_remote(self) -> bool:
        """Whether the rows are in another process, which may go away."""
        return isinstance(self._store.backend, RemoteBackend)

    def look(self) -> bool:
        """Take up a schema that has changed; says whether there was one."""
        findings: list[Finding] = []
        text = source_text(self._root, SCHEMA_FILE, findings)
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
        log.info("schema_taken_up", extra={"entities": len(schema.entities)})
        return True

    def check(self) -> None:
        """Find out whether rows can be had."""
        try:
            check_format(self._store.backend)
        except InferflowError as failed:
            self.away = str(failed)
        else:
            self.away = ""

    def close(self) -> None:
        self._store.backend.close()
