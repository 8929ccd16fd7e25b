"""Log schemas that are or were in use, kept on disk: logs outlive the configs they were written by.

Each is a small file named by what it holds, so any number of processes may write the same one.
Where a config changed its columns without changing its version, the version means the newest; a
digest means exactly one.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from urllib.parse import quote

from inferflow.errors import InvalidInput, NotFound
from inferflow.inferlog.schema import LogSchema, schema_from

log = logging.getLogger(__name__)


class SchemaBook:
    """For any number of threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, int], LogSchema] = {}
        self._known: dict[tuple[str, str], LogSchema] = {}

    def keep(self, schema: LogSchema) -> None:
        """From now on this is what the config's version means. Serving goes on when it cannot be
        written down: it is known as long as this process lives."""
        with self._lock:
            if self._newest.get((schema.config_id, schema.version)) == schema:
                return
            self._remember(schema)
            try:
                self._write(schema)
            except OSError as refused:
                log.warning(
                    "log_schema_not_kept",
                    extra={"config_id": schema.config_id, "reason": str(refused)},
                )

    def find(self, config_id: str, version: int, digest: str = "") -> LogSchema:
        """Raises NotFound when it was never kept here."""
        with self._lock:
            if (config_id, version) not in self._newest or digest:
                self._read(config_id)
            found = (
                self._known.get((config_id, digest))
                if digest
                else self._newest.get((config_id, version))
            )
        if found is None:
            which = f"{config_id} version {version}" + (f" schema {digest}" if digest else "")
            raise NotFound("log schema", which[:200])
        return found

    def _remember(self, schema: LogSchema) -> None:
        self._newest[schema.config_id, schema.version] = schema
        self._known[schema.config_id, schema.digest] = schema

    def _place(self, config_id: str) -> Path:
        return self._folder / f"config-{quote(config_id, safe='')}"[:200]

    def _write(self, schema: LogSchema) -> None:
        folder = self._place(schema.config_id)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{schema.version}-{schema.digest}.json"
        beside = folder / f".{path.name}.{os.getpid()}-{threading.get_ident()}"
        beside.write_text(json.dumps(schema.to_dict()), encoding="utf-8")
        beside.replace(path)

    def _read(self, config_id: str) -> None:
        """The newest file of a version counts, unless this process was told better."""
        told = dict(self._newest)
        try:
            found = sorted(
                self._place(config_id).glob("[0-9]*.json"), key=lambda path: path.stat().st_mtime_ns
            )
        except OSError:
            return
        for path in found:
            try:
                schema = schema_from(json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, InvalidInput) as broken:
                log.warning("log_schema_unreadable", extra={"reason": f"{path.name}: {broken}"})
                continue
            self._remember(schema)
        self._newest.update(told)
