"""How log messages are written, as etcd says for all servers of an application.

What etcd says counts over the settings, field by field, and is taken up while serving. What is
wrong there changes nothing. What was taken up last is kept on this host, for a start without etcd.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from inferflow.configstore.atomic import write_whole
from inferflow.errors import InvalidInput
from inferflow.plan.schema import ServiceDoc

if TYPE_CHECKING:
    from inferflow.configstore.etcd import FollowedStore

LOG = logging.getLogger("inferflow.etcd")

Told = Callable[[ServiceDoc], None]


class ServiceWatch:
    """Its owner calls `look` now and then; `tell` is told of what is new."""

    def __init__(
        self, store: FollowedStore, settings: ServiceDoc, home: Path, tell: Told = lambda _: None
    ) -> None:
        self._store = store
        self._settings = settings
        self._file = home / "service.json"
        self._tell = tell
        self._now: ServiceDoc | None = None
        self._refused = ""

    def look(self) -> None:
        try:
            found = self._read()
        except (InvalidInput, ValidationError) as wrong:
            if str(wrong) != self._refused:
                LOG.warning("service_config_refused", extra={"why": str(wrong)})
            self._refused = str(wrong)
            found = self._now or self._kept()
        else:
            self._refused = ""
        if found != self._now:
            self._now = found
            self._keep(found)
            self._tell(found)

    def _read(self) -> ServiceDoc:
        from inferflow.configstore.etcd.service import service_fields

        seen = self._store.mirror.seen()
        if seen is None:
            return self._now or self._kept()
        fields = service_fields(seen, self._store.layout, ServiceDoc.model_fields)
        return ServiceDoc.model_validate({**self._settings.model_dump(), **fields})

    def _kept(self) -> ServiceDoc:
        """A memory, not the truth: without one that can be read, the settings count."""
        try:
            return ServiceDoc.model_validate_json(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return self._settings

    def _keep(self, found: ServiceDoc) -> None:
        text = found.model_dump_json()
        try:
            if self._file.exists() or found != self._settings:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self._file, text)
        except OSError as refused:
            LOG.warning("service_config_not_kept", extra={"why": str(refused)})
