"""What a store sees of etcd: etcd itself, asked each time, or a mirror of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from inferflow.configstore.etcd.layout import Layout
from inferflow.errors import ConfigStoreFailed
from inferflow.rpc.etcd import EtcdClient, Listing, Mirror
from inferflow.rpc.etcd.known import Change


class View(Protocol):
    def seen(self) -> Listing:
        """As last seen."""
        ...

    def fresh(self) -> Listing:
        """As of this moment."""
        ...

    def learn(self, changes: Iterable[Change]) -> None:
        """Changes that were just made."""
        ...


class Asked:
    """Sees nothing but what etcd says now."""

    def __init__(self, client: EtcdClient, layout: Layout) -> None:
        self._client = client
        self._range = layout.followed

    def seen(self) -> Listing:
        return self._client.listing(*self._range)

    def fresh(self) -> Listing:
        return self.seen()

    def learn(self, changes: Iterable[Change]) -> None:
        """Will be seen."""


class Mirrored:
    """Sees what a mirror has seen."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def seen(self) -> Listing:
        found = self._mirror.seen()
        if found is None:
            raise ConfigStoreFailed(f"etcd has not answered yet: {self._mirror.why_away}")
        return found

    def fresh(self) -> Listing:
        return self._mirror.fresh()

    def learn(self, changes: Iterable[Change]) -> None:
        self._mirror.learn(changes)
