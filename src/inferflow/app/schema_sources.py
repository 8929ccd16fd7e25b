"""Where a feature service finds its schema: the folder's file, or etcd when the folder has none.

What was taken up from etcd is kept on this host, and is what a start without etcd begins with.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol

from inferflow.app.config_stores import open_etcd
from inferflow.app.etcd_inputs import schema_text
from inferflow.app.places import config_dir
from inferflow.app.project import SCHEMA_FILE, Finding, source_text
from inferflow.app.settings import Settings
from inferflow.configstore.atomic import write_whole
from inferflow.rpc.etcd import EtcdClient, Mirror, prefix_end
from inferflow.rpc.etcd.mirror import RELIST_S

log = logging.getLogger(__name__)


class SchemaSource(Protocol):
    is_elsewhere: bool
    """Whether it may come later: nobody has to wait for it then."""

    def read(self, findings: list[Finding]) -> str | None:
        """As it is now; None when there is none, or none that can be read."""
        ...

    def why_none(self) -> str:
        """Why there is none, for people."""
        ...

    def kept(self) -> str | None:
        """The one that was taken up last, in this run or an earlier one."""
        ...

    def keep(self, text: str | None) -> None:
        """Remember what was taken up."""
        ...

    def close(self) -> None: ...


class FileSchema:
    """The file needs no second copy."""

    is_elsewhere = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, findings: list[Finding]) -> str | None:
        return source_text(self._root, SCHEMA_FILE, findings)

    def why_none(self) -> str:
        return f"there is no {SCHEMA_FILE}"

    def kept(self) -> str | None:
        return None

    def keep(self, text: str | None) -> None:
        """It is in the folder."""

    def close(self) -> None:
        """There is nothing to give back."""


class KeptSchema:
    """A memory, not the truth: when it cannot be read there is none, and when it cannot be written
    the service goes on without."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> str | None:
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as lost:
            log.warning("kept_schema_lost", extra={"file": str(self._path), "why": str(lost)})
            return None

    def keep(self, text: str) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, text)
        except OSError as refused:
            log.warning("schema_not_kept", extra={"file": str(self._path), "why": str(refused)})


class EtcdSchema:
    """Follows one key until closed, and closes the client with it."""

    is_elsewhere = True

    def __init__(
        self,
        client: EtcdClient,
        key: bytes,
        home: Path,
        *,
        follow: bool = True,
        relist_s: float = RELIST_S,
    ) -> None:
        self._client = client
        self._key = key
        self._kept = KeptSchema(home / "feature_schema.yaml")
        self._mirror = Mirror(client, key, prefix_end(key), follow=follow, relist_s=relist_s)
        self._mirror.wait(client.options.dial_timeout_s, patiently=self.kept() is None)

    def read(self, findings: list[Finding]) -> str | None:
        seen = self._mirror.seen()
        if seen is None:
            return self.kept()
        return schema_text(seen.entries.get(self._key), findings)

    def why_none(self) -> str:
        where = f"etcd at {self._client.options.addresses}"
        if self._mirror.seen() is None:
            return f"{where} has not answered: {self._mirror.why_away or 'no answer yet'}"
        return f"{where} has no {self._key.decode()}"

    def kept(self) -> str | None:
        return self._kept.load()

    def keep(self, text: str | None) -> None:
        if text is not None and text != self.kept():
            self._kept.keep(text)

    def close(self) -> None:
        self._mirror.close()
        self._client.close()


def open_schema(root: Path, settings: Settings) -> SchemaSource:
    """The caller closes it."""
    if not settings.etcd.endpoints or (root / SCHEMA_FILE).exists():
        return FileSchema(root)
    from inferflow.configstore.etcd import Layout

    return EtcdSchema(
        open_etcd(settings),
        Layout(settings.telemetry.app_name).schema,
        config_dir(root, settings),
        follow=settings.etcd.watcher_enabled,
        relist_s=settings.etcd.relist / 1000,
    )
