"""What a server makes of each config, written where operators see it.

`status/<id>/<server>` holds JSON: the version that serves, the state, the problems. The keys are
tied to a lease, so what is left behind by a server that died disappears. Writing happens on a
thread of its own and is tried again until it succeeds; nobody waits for it, and a server that may
not write its status serves all the same.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from inferflow.configstore.etcd.layout import Layout
from inferflow.errors import InferflowError
from inferflow.rpc.etcd import Delete, EtcdClient, Put

LOG = logging.getLogger("inferflow.etcd")
TTL_S = 30
_AT_ONCE = 64


class StatusBoard:
    """Shows what it was given last, until closed."""

    def __init__(
        self, client: EtcdClient, layout: Layout, server: str, *, ttl_s: int = TTL_S
    ) -> None:
        self._client = client
        self._layout = layout
        self._server = server.replace("/", "_")
        self._ttl_s = ttl_s
        self._wanted: Mapping[str, str] = {}
        self._shown: dict[str, str] = {}
        self._lease = 0
        self._is_failing = False
        self._news = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inferflow-status", daemon=True)
        self._thread.start()

    def show(self, status: Mapping[str, str]) -> None:
        """Config id → how it stands, as JSON. Returns at once."""
        self._wanted = dict(status)
        self._news.set()

    def close(self) -> None:
        """Take everything down, if etcd can be reached."""
        self._closing.set()
        self._news.set()
        self._thread.join()
        if self._lease:
            try:
                self._client.revoke(self._lease)
            except InferflowError as away:
                LOG.info("status_left_behind", extra={"why": str(away)})

    def _run(self) -> None:
        while not self._closing.is_set():
            self._news.wait(self._ttl_s / 3)
            if self._closing.is_set():
                return
            self._news.clear()
            try:
                self._keep_lease()
                self._write(self._wanted)
                self._is_failing = False
            except InferflowError as failed:
                self._say_once(failed)
            except Exception:  # the thread outlives whatever it meets
                LOG.exception("status_fault")

    def _say_once(self, failed: InferflowError) -> None:
        if not self._is_failing:
            LOG.warning("status_not_written", extra={"why": str(failed)})
        self._is_failing = True

    def _keep_lease(self) -> None:
        if not self._lease or not self._client.keep(self._lease):
            self._lease, self._shown = self._client.grant(self._ttl_s), {}

    def _write(self, wanted: Mapping[str, str]) -> None:
        changes: list[tuple[str, Put | Delete]] = [
            (config_id, Put(self._key(config_id), text.encode(), self._lease))
            for config_id, text in wanted.items()
            if self._shown.get(config_id) != text
        ]
        gone = self._shown.keys() - wanted.keys()
        changes += [(config_id, Delete(self._key(config_id))) for config_id in gone]
        for at in range(0, len(changes), _AT_ONCE):
            some = changes[at : at + _AT_ONCE]
            self._client.change([], [change for _, change in some])
            for config_id, change in some:
                if isinstance(change, Put):
                    self._shown[config_id] = wanted[config_id]
                else:
                    del self._shown[config_id]

    def _key(self, config_id: str) -> bytes:
        return self._layout.status(config_id, self._server)
