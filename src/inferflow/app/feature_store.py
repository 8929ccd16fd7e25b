"""The `feature-store` role: one process that answers feature reads and writes over gRPC.

It serves until it is asked to end, then drains as every role does. While its rows are out of
reach it says so to health checks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from inferflow.access import CallerBook, NamedCaller
from inferflow.api.features.service import SERVICES, FeaturePolicy, FeatureService
from inferflow.app.feature_callers import read_callers
from inferflow.app.feature_store_settings import FeatureStoreSettings
from inferflow.app.lifetime import keep_what_is_loaded, stop_signals
from inferflow.app.listener import Listener
from inferflow.app.live_store import LiveStore
from inferflow.app.security import PLAIN, Security, named_callers, open_security
from inferflow.app.settings import Settings
from inferflow.app.watching import Watcher
from inferflow.errors import InvalidInput
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions
from inferflow.telemetry.feature_tally import FeatureTally

log = logging.getLogger(__name__)

_CHECK_S = 1.0
"""How often a store in another process is asked whether it is there."""


class FeatureStoreServer(Listener):
    """A running feature store. Made by `start_feature_store`."""

    role = "feature-store"

    def __init__(
        self,
        store: LiveStore,
        settings: FeatureStoreSettings,
        *,
        security: Security = PLAIN,
        callers: LiveCallers | None = None,
    ) -> None:
        super().__init__(settings)
        self.store = store
        self.settings = settings
        self.security = security
        self.service: FeatureService
        self._callers = callers

    def why_not_ready(self) -> str:
        return self.store.away

    def look(self) -> None:
        """Take up a schema or callers that have changed. For a thread."""
        self.store.look()
        if self._callers is not None:
            self._callers.look()

    async def watch_store(self) -> None:
        """Tell health checks when the rows go out of reach, and when they are back."""
        while True:
            was_ready = not self.not_ready()
            await asyncio.to_thread(self.store.check)
            is_ready = not self.not_ready()
            if is_ready is not was_ready:
                log.warning(
                    "store_back" if is_ready else "store_away", extra={"why": self.store.away}
                )
                await self.tell_health()
            await asyncio.sleep(_CHECK_S)

    async def start(self, tally: FeatureTally) -> None:
        settings, security = self.settings, self.security
        security.check_bind(settings.bind, settings.auth)
        self.service = FeatureService(
            self.store.find,
            admission=Admission(settings.max_in_flight),
            policy=FeaturePolicy(
                settings.default_deadline, settings.max_deadline, settings.max_keys
            ),
            observer=tally,
        )
        await self.open_ports(
            security.guarded(self.service.handlers()),
            services=SERVICES,
            security=security,
            metrics=tally,
            options=ServerOptions(max_receive_bytes=int(settings.max_message_mb * MIB)),
        )
        await self.tell_health()


class LiveCallers:
    """Those of the feature store, taken up anew when their file changes, and those that are known
    everywhere."""

    def __init__(self, root: Path, settings: Settings) -> None:
        """Raises InvalidInput."""
        own = settings.feature_store
        self._file = root / own.callers_file if own.callers_file else None
        self._tables = own.callers
        self._everywhere = named_callers(settings.auth.callers)
        self.book = CallerBook(self._read())

    @property
    def are_named(self) -> bool:
        """Whether anything says who they are, even if there is nobody at the moment."""
        return self._file is not None or len(self.book) > 0

    def look(self) -> None:
        try:
            self.book.replace(self._read())
        except InvalidInput as refused:
            log.warning("refused: %s", refused)

    def _read(self) -> dict[str, NamedCaller]:
        return self._everywhere | read_callers(self._file, self._tables)


async def start_feature_store(
    root: Path, store: LiveStore, settings: Settings, tally: FeatureTally
) -> FeatureStoreServer:
    """Listen on the ports the settings name, ready for calls. Raises InvalidInput when one is
    taken, or when others could call who are not meant to."""
    callers, security = open_callers(root, settings)
    server = FeatureStoreServer(store, settings.feature_store, security=security, callers=callers)
    await server.start(tally)
    return server


def open_callers(root: Path, settings: Settings) -> tuple[LiveCallers, Security]:
    """Who may call. Raises InvalidInput when that is more than are meant to."""
    own, callers = settings.feature_store, LiveCallers(root, settings)
    known = callers.book if callers.are_named else None
    security = open_security(settings, auth=own.auth, callers=known)
    security.check_bind(own.bind, own.auth)
    return callers, security


async def serve_features(
    root: Path, settings: Settings, *, started: Callable[[FeatureStoreServer], None]
) -> None:
    """Serve until asked to end, then end politely. `started` is told where it listens."""
    open_callers(root, settings)  # before anything that takes long
    with closing(LiveStore(root, settings)) as store, stop_signals() as (end, hurry):
        server = await start_feature_store(root, store, settings, FeatureTally())
        watcher = Watcher(root, server.look)
        watching = asyncio.ensure_future(server.watch_store()) if store.is_remote else None
        try:
            keep_what_is_loaded()
            started(server)
            await end.wait()
            await server.drain(hurry)
        finally:
            if watching is not None:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
            await asyncio.to_thread(watcher.close)
            await server.close()
