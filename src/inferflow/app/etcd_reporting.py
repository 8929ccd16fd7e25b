"""What a server that follows etcd lets others know: metrics of how well it follows, and in etcd
itself how each config stands here."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inferflow.app.config_stores import open_etcd
from inferflow.app.reload import Reloader
from inferflow.app.settings import Settings
from inferflow.telemetry import Telemetry, table

if TYPE_CHECKING:
    from inferflow.configstore.etcd import StatusBoard


@contextmanager
def reporting(reloader: Reloader, settings: Settings, telemetry: Telemetry) -> Iterator[Reporter]:
    """Report as long as the block runs; nothing unless configs are in etcd."""
    if not settings.etcd.endpoints:
        yield Reporter(reloader, None)
        return
    from inferflow.configstore.etcd import FollowedStore, StatusBoard

    store = reloader.configs
    assert isinstance(store, FollowedStore)
    mirror = store.mirror
    telemetry.watch(table.CONFIG_STALE, mirror.stale_s)
    telemetry.watch(table.CONFIG_RESYNCS, lambda: mirror.resyncs)
    telemetry.watch(table.CONFIG_DRIFTS, lambda: mirror.drifts)
    client = open_etcd(settings)
    board = StatusBoard(client, store.layout, server_name())
    try:
        reporter = Reporter(reloader, board)
        reporter()
        yield reporter
    finally:
        board.close()
        client.close()


class Reporter:
    """Shows how configs stand, each time it is called."""

    def __init__(self, reloader: Reloader, board: StatusBoard | None) -> None:
        self._reloader = reloader
        self._board = board

    def __call__(self, *_: object) -> None:
        if self._board is not None:
            self._board.show(
                {
                    each.id: json.dumps(each.as_dict(), ensure_ascii=False)
                    for each in self._reloader.status()
                }
            )


def server_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"
