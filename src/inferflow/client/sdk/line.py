"""A fleet as the engine's steps reach it: for one endpoint, from whichever event loop."""

from __future__ import annotations

import asyncio

from inferflow.client.sdk.fleet import Fleet, FleetOptions
from inferflow.client.sdk.managers import listed
from inferflow.client.sdk.sessions import Wanted
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import MODEL_FAILURES
from inferflow.errors import InferflowError, ModelFailed, ModelUnavailable, Unreachable
from inferflow.plan.catalog import Endpoint


class FleetLine:
    """What `oip.line.Line` is to servers with a fixed address."""

    def __init__(self, endpoint: Endpoint, key: str, options: FleetOptions | None = None) -> None:
        self.address = endpoint.address or ""
        self._managers = listed(endpoint.managers)
        self._wanted = wanted_of(endpoint)
        self._key = key
        self._options = options
        self._open: dict[asyncio.AbstractEventLoop, Fleet] = {}

    def look_up(self) -> None:
        """Nothing to be done beforehand: managers are asked by the first call."""

    async def ask(self, body: bytes, name: str, deadline: Deadline) -> bytes:
        """The bytes of the answer to a request that names no version. Raises one of
        MODEL_FAILURES."""
        try:
            return await self._fleet().ask(self._wanted, body, deadline)
        except MODEL_FAILURES:
            raise
        except ModelUnavailable as away:
            raise Unreachable(self.address, 1, away.why) from away
        except InferflowError as refused:
            raise ModelFailed(name, f"{self.address}: {refused}") from refused

    def close(self) -> None:
        """Give up every connection. Later calls open new ones."""
        self._open.clear()

    def _fleet(self) -> Fleet:
        loop = asyncio.get_running_loop()
        found = self._open.get(loop)
        if found is None:
            self._open = {each: it for each, it in self._open.items() if not each.is_closed()}
            found = self._open[loop] = Fleet(self._managers, self._key, self._options)
        return found


def wanted_of(endpoint: Endpoint) -> Wanted:
    """Versions of a fleet are numbers; any other text is a stage."""
    version = endpoint.version or ""
    if version.isdecimal():
        return Wanted(endpoint.model, version=version)
    return Wanted(endpoint.model, stage=version)
