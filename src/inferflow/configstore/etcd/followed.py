"""The config store of a server: read from memory, and there also while etcd is away.

What was seen last counts until etcd says something else. A server that starts while etcd is away
begins with what it served last. That it cannot record what it has taken up, because etcd is away or
because it may not write there, keeps it from nothing: somebody who can records it later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence

from inferflow.configstore.etcd.layout import Layout
from inferflow.configstore.etcd.store import EtcdStore
from inferflow.configstore.etcd.view import Mirrored
from inferflow.configstore.folder import Folder, documents_of
from inferflow.configstore.served import Served, ServedStore
from inferflow.configstore.versions import Document, Draft, Expected, Version
from inferflow.errors import (
    ConfigStoreBusy,
    ConfigStoreFailed,
    InvalidInput,
    PermissionDenied,
    Unauthenticated,
)
from inferflow.rpc.etcd import EtcdClient, Mirror
from inferflow.rpc.etcd.mirror import RELIST_S

LOG = logging.getLogger("inferflow.etcd")


class FollowedStore:
    """Implements `port.ConfigStore`. Owns its client, and the threads that follow etcd."""

    def __init__(
        self,
        client: EtcdClient,
        app_name: str,
        last: ServedStore,
        *,
        follow: bool = True,
        relist_s: float = RELIST_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`last` is what was served before. Waits for etcd as long as a connection may take; when
        there is something to begin with, only until it is known to be away."""
        self.layout = Layout(app_name)
        self._client = client
        self._last = _Last(last)
        self.mirror = Mirror(client, *self.layout.followed, follow=follow, relist_s=relist_s)
        self._store = EtcdStore(client, app_name, view=Mirrored(self.mirror), now=now)
        self._cannot_record = ""
        has_last = bool(self._last.folder.documents)
        if not self.mirror.wait(client.options.dial_timeout_s, patiently=not has_last):
            LOG.warning(
                "etcd_away_at_start",
                extra={
                    "endpoints": client.options.addresses,
                    "why": self.mirror.why_away or "no answer yet",
                    "configs_from_last_time": len(self._last.folder.documents),
                },
            )

    def close(self) -> None:
        self.mirror.close()
        self._store.close()

    def why_nothing(self) -> str:
        """Why there is no config to be had; empty when there are some."""
        where = f"etcd at {self._client.options.addresses}"
        if self.mirror.seen() is None:
            return f"{where} has not answered: {self.mirror.why_away or 'no answer yet'}"
        return "" if self.current().documents else f"{where} has none in {self.layout.configs}"

    def current(self) -> Folder:
        return self._last.folder if self.mirror.seen() is None else self._store.current()

    def versions(self) -> Sequence[Version]:
        return self._last.versions if self.mirror.seen() is None else self._store.versions()

    def accept(self, documents: Collection[Document], gone: Collection[str] = ()) -> bool:
        if self.mirror.seen() is None:
            return True
        try:
            done = self._store.accept(documents, gone)
        except (ConfigStoreFailed, ConfigStoreBusy, PermissionDenied, Unauthenticated) as cannot:
            if str(cannot) != self._cannot_record:
                LOG.warning("versions_not_recorded", extra={"why": str(cannot)})
            self._cannot_record = str(cannot)
            return True
        self._cannot_record = ""
        return done

    def get(self, config_id: str) -> Document:
        return self._store.get(config_id)

    def history(self, config_id: str) -> Sequence[Version]:
        return self._store.history(config_id)

    def text(self, version: Version) -> str:
        return self._store.text(version)

    def push(self, draft: Draft, *, expected: Expected | None = None) -> Version:
        return self._store.push(draft, expected=expected)


class _Last:
    """What was served last, as if it were what is there."""

    def __init__(self, store: ServedStore) -> None:
        documents: dict[str, Document] = {}
        versions: list[Version] = []
        for config_id, served in sorted(store.read().items()):
            try:
                (document,) = documents_of(
                    store.texts.get(served.text), served.format, stem=config_id, file=served.file
                )
            except (ConfigStoreFailed, InvalidInput) as lost:
                LOG.warning("last_config_lost", extra={"config_id": config_id, "why": str(lost)})
                continue
            documents[config_id] = document
            versions.append(_version(config_id, served))
        self.folder = Folder(documents)
        self.versions = versions


def _version(config_id: str, served: Served) -> Version:
    return Version(
        config_id,
        served.version,
        served.text,
        served.format,
        served.accepted_ms,
        author="",
        origin="edit",
        checks="compiled",
        note="as served last",
    )
