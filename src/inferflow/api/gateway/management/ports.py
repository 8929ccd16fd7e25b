"""What the management routes need, in their own words.

Answers are plain values, in the shapes that the routes declare. Every port raises errors of
`inferflow.errors` and nothing else. A port that is None is a part this gateway does not have.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Facts = dict[str, Any]
Format = Literal["json", "yaml"]


@dataclass(frozen=True, slots=True)
class Text:
    """A config somebody wrote, which may become one."""

    text: str
    format: Format


class Configs(Protocol):
    """Configs as they are, were and might be. Ids are exact."""

    async def statuses(self) -> list[Facts]: ...

    async def get(self, config_id: str) -> Facts: ...

    async def plan(self, config_id: str) -> Facts:
        """The plan that serves. Raises InvalidRequest for an id that stands for several."""

    async def validate(self, written: Text, config_id: str) -> Facts:
        """Everything that is wrong with a text, with its place. Never writes."""

    async def check(self, config_id: str, written: Text) -> Facts:
        """The same, its golden requests, and how it differs from what is there."""

    async def publish(
        self,
        config_id: str,
        written: Text,
        *,
        author: str,
        expected: int | None,
        note: str,
        force: bool,
    ) -> Facts:
        """Raises PlanRejected, GoldenFailed or VersionConflict; nothing was changed then."""

    async def history(self, config_id: str) -> list[Facts]:
        """Newest first."""

    async def version(self, config_id: str, number: int) -> Facts: ...

    async def difference(self, config_id: str, old: int, new: int) -> Facts: ...

    async def roll_back(
        self, config_id: str, *, author: str, to: int | None, expected: int | None
    ) -> Facts: ...


class Playground(Protocol):
    """Scores without a trace: nothing is written, counted or logged."""

    async def samples(self, config_id: str) -> list[Facts]: ...

    async def play(
        self, config_id: str, request: Facts, *, item: str | None, overrides: Facts
    ) -> Facts: ...


class Recordings(Protocol):
    """Requests that servers keep for a second look."""

    async def latest(self, last: int) -> list[Facts]: ...

    async def get(self, recording: str, item: str) -> Facts: ...


@dataclass(frozen=True, slots=True)
class KeyWish:
    """An API key somebody wants."""

    name: str
    permissions: Sequence[str]
    models: Sequence[str] = ()
    expires_ms: int = 0
    per_second: float = 0.0
    burst: int = 0


class Fleet(Protocol):
    """A manager and its workers. `credential` is what the manager sees of the caller."""

    async def models(self, credential: str) -> list[Facts]: ...

    async def model(self, credential: str, name: str) -> Facts: ...

    async def upload(
        self,
        credential: str,
        name: str,
        files: Mapping[str, Path],
        *,
        version: str,
        stage: str,
        description: str,
    ) -> Facts: ...

    async def promote(
        self, credential: str, name: str, version: str, stage: str, reason: str
    ) -> Facts: ...

    async def delete_version(self, credential: str, name: str, version: str) -> None: ...

    async def set_traffic(
        self, credential: str, name: str, traffic: Mapping[str, float]
    ) -> Facts: ...

    async def workers(self, credential: str) -> list[Facts]: ...

    async def drain(self, credential: str, worker_id: str) -> None: ...

    async def keys(self, credential: str) -> list[Facts]: ...

    async def create_key(self, credential: str, wish: KeyWish) -> Facts:
        """`key` and, this once, `text`."""

    async def revoke_key(self, credential: str, key_id: str) -> Facts: ...

    async def audit(self, credential: str, limit: int) -> list[Facts]: ...


class Features(Protocol):
    """The feature store, wherever it is."""

    async def schema(self) -> Facts: ...

    async def lookup(
        self, entity: str, keys: Sequence[Sequence[Any]], groups: Sequence[str]
    ) -> list[Facts]:
        """One row per key, in order. Without groups: all of them."""

    async def put(self, entity: str, group: str, rows: Sequence[Facts]) -> int:
        """All or nothing. Each row has its `key` and `values`."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which records of the inference log; empty and 0 mean any."""

    config_id: str = ""
    tracking_id: str = ""
    user: str = ""
    since_ms: int = 0
    limit: int = 100
    cursor: str = ""
    """Where the page before ended."""


class Logs(Protocol):
    """The inference log, read back."""

    async def page(self, query: LogQuery) -> Facts: ...

    async def stats(self) -> Facts:
        """`configs`, counted, and `unreadable`: files that could not be."""


class SettingsPage(Protocol):
    async def settings(self) -> list[Facts]:
        """Secrets are stars."""


class Live(Protocol):
    """Numbers once per second, and events as they come."""

    def latest(self) -> Facts:
        """The newest numbers."""

    def listen(self) -> AsyncIterator[Facts]:
        """First the history, then every message, until the listener is too slow or leaves."""

    async def close(self) -> None:
        """Let all listeners go."""


@dataclass(frozen=True, slots=True)
class BackOffice:
    """Everything behind the management routes."""

    configs: Configs | None = None
    playground: Playground | None = None
    recordings: Recordings | None = None
    fleet: Fleet | None = None
    features: Features | None = None
    logs: Logs | None = None
    settings: SettingsPage | None = None
    live: Live | None = None

    async def let_go(self) -> None:
        """End what would not end by itself: pages that listen. Before a gateway drains."""
        if self.live is not None:
            await self.live.close()
