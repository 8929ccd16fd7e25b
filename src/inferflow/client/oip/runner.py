"""The engine's `ModelRunner` for models on other hosts: of servers that are named, or of a fleet.

A line to a server is shared by everything prepared for it, and held by nothing else: when the
last plan that uses an endpoint is gone, and with it the last request that ran by that plan, the
line closes. So connections follow reloads by themselves.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

from inferflow.client.oip.answer import read_answer
from inferflow.client.oip.line import Line, LineOptions
from inferflow.client.oip.metadata import Known, RemoteSignature, ask_signature, read_signature
from inferflow.client.oip.request import InferRequest
from inferflow.client.oip.signatures import Mark, Signatures
from inferflow.client.sdk.fleet import FleetOptions
from inferflow.client.sdk.line import FleetLine
from inferflow.client.sdk.registered import ask_registry
from inferflow.dtypes import Array
from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import EngineFault, InvalidInput, ModelFailed
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature
from inferflow.rpc.tls_channel import ChannelTls


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    line: LineOptions = field(default_factory=LineOptions)
    default_deadline_ms: float = 1_000.0
    """For calls that nobody set a limit for: no call waits for ever."""
    fleet_key: str = field(default="", repr=False)
    """The API key managers are shown."""
    fleet_tls: ChannelTls | None = None
    """How managers and their workers are called; None in plain text."""
    metadata_timeout_s: float = 5.0
    """How long a server may take to say what a model takes, when a config is loaded."""
    clock: Clock = time.monotonic


class RemoteModels:
    """Models behind `host:port` and `manager://` endpoints, prepared and run."""

    def __init__(self, options: RemoteOptions | None = None) -> None:
        self._options = options or RemoteOptions()
        self._signatures = Signatures(self._asked, clock=self._options.clock)
        self._lines: weakref.WeakValueDictionary[object, Line | FleetLine]
        self._lines = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def is_local(self, endpoint: Endpoint) -> bool:  # noqa: ARG002  # none of these is
        return False

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        """What a model takes and gives; may ask its server, for a bounded time."""
        known = self._signatures.get(endpoint)
        return known.signature if isinstance(known, RemoteSignature) else known

    def learn(self, endpoint: Endpoint, told: bytes) -> ModelSignature | UnknownSignature:
        """The signature that another process read from these words. Nobody is asked."""
        known = read_signature(told, endpoint)
        if isinstance(known, UnknownSignature):
            return known
        self._signatures.learn(endpoint, known)
        return known.signature

    def recheck(self, endpoints: Iterable[Endpoint]) -> Mark:
        """Ask again for what was not known, or is no longer fresh; see `Signatures.recheck`."""
        return self._signatures.recheck(endpoints)

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> RemoteModel:
        known = self._signatures.get(endpoint)
        remote = known if isinstance(known, RemoteSignature) else None
        return RemoteModel(endpoint, self._line(endpoint), remote, inputs, outputs, self._options)

    def close(self) -> None:
        """Close every line. What was prepared opens them again if it is run."""
        for line in list(self._lines.values()):
            line.close()

    def _asked(self, endpoint: Endpoint) -> Known:
        options = self._options
        if endpoint.managers:
            return ask_registry(
                endpoint,
                options.fleet_key,
                timeout_s=options.metadata_timeout_s,
                tls=options.fleet_tls,
            )
        return ask_signature(
            endpoint,
            timeout_s=options.metadata_timeout_s,
            headers=options.line.headers,
            tls=options.line.tls,
        )

    def _line(self, endpoint: Endpoint) -> Line | FleetLine:
        if endpoint.address is None:
            raise EngineFault(f"endpoint {endpoint.text!r} is in this process")
        which = replace(endpoint, text="") if endpoint.managers else endpoint.address
        with self._lock:
            found = self._lines.get(which)
            if found is None:
                found = self._lines[which] = self._opened(endpoint, endpoint.address)
        with suppress(InvalidInput):  # calls will say so, until the name is known
            found.look_up()
        return found

    def _opened(self, endpoint: Endpoint, address: str) -> Line | FleetLine:
        if endpoint.managers:
            return FleetLine(
                endpoint, self._options.fleet_key, FleetOptions(tls=self._options.fleet_tls)
            )
        return Line(address, self._options.line)


class RemoteModel:
    """A model bound to its input and output names, and the line to where it runs."""

    def __init__(
        self,
        endpoint: Endpoint,
        line: Line | FleetLine,
        known: RemoteSignature | None,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        options: RemoteOptions,
    ) -> None:
        self.endpoint = endpoint
        self.version = (known.signature.version if known else endpoint.version) or ""
        self._line = line
        self._inputs = inputs
        self._outputs = outputs
        self._declared = known.outputs if known else {}
        self._default_deadline_ms = options.default_deadline_ms
        self._request = InferRequest(
            endpoint.model,
            None if endpoint.managers else endpoint.version,  # a manager chooses it
            inputs,
            outputs,
            bf16=known.bf16_inputs if known else (),
        )

    async def run(self, tensors: Sequence[Array], *, deadline: Deadline) -> Sequence[Array]:
        if len(tensors) != len(self._inputs):
            raise EngineFault(f"{len(tensors)} tensors for the inputs {', '.join(self._inputs)}")
        if deadline.at == inf:
            deadline = deadline.within(self._default_deadline_ms)
        model = self.endpoint.model
        try:
            body = await self._line.ask(self._request.of(tensors), model, deadline)
            arrays, version = read_answer(body, self._outputs, self._declared)
        except InvalidInput as wrong:
            raise ModelFailed(model, f"{self._line.address}: {wrong}") from wrong
        self.version = version or self.version
        return arrays
