"""A project's models, wherever they run: in this process, or on other hosts.

What other hosts need is loaded when the first config names one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls
from inferflow.engine.ports import ModelRunner, PreparedModel
from inferflow.errors import MissingExtra
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature
from inferflow.plan.plan import ModelStep, Plan
from inferflow.serving.runtime import EmbeddedModels

if TYPE_CHECKING:
    from inferflow.client.oip.runner import RemoteModels

RemoteMark = tuple[object, ...]
"""What is known of remote models; equal when nothing changed."""


class ProjectModels:
    """Implements `engine.ports.ModelRunner`, and answers the catalog. Close it when done."""

    def __init__(self, embedded: EmbeddedModels, open_remote: Callable[[], RemoteModels]) -> None:
        self._embedded = embedded
        self._open_remote = open_remote
        self._remote: RemoteModels | None = None

    def is_local(self, endpoint: Endpoint) -> bool:
        return endpoint.is_local

    def model_names(self) -> Collection[str]:
        """Models of this process."""
        return self._embedded.model_names()

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        if endpoint.is_local:
            return self._embedded.signature(endpoint)
        try:
            return self._elsewhere().signature(endpoint)
        except MissingExtra as missing:
            return UnknownSignature(str(missing))

    def learn(self, endpoint: Endpoint, told: bytes) -> ModelSignature | UnknownSignature:
        """What another process was told of a model elsewhere; see `ModelSignature.told`."""
        return self._elsewhere().learn(endpoint, told)

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedModel:
        runner: ModelRunner = self._embedded if endpoint.is_local else self._elsewhere()
        return runner.prepare(endpoint, inputs, outputs)

    def recheck(self, endpoints: Iterable[Endpoint]) -> RemoteMark:
        """Ask again for remote models that are not known or may have changed. May wait, so it is
        not for requests."""
        return () if self._remote is None else self._remote.recheck(endpoints)

    def unload_idle(self) -> tuple[str, ...]:
        return self._embedded.unload_idle()

    def close(self) -> None:
        self._embedded.close()
        if self._remote is not None:
            self._remote.close()

    def _elsewhere(self) -> RemoteModels:
        if self._remote is None:
            self._remote = self._open_remote()
        return self._remote


def remote_endpoints(plans: Iterable[Plan]) -> set[Endpoint]:
    """Where plans run models beyond this process."""
    return {
        arm.endpoint
        for plan in plans
        for step in plan.steps
        if isinstance(step, ModelStep)
        for arm in step.arms
        if not arm.endpoint.is_local
    }


def open_remote_models(settings: Settings) -> RemoteModels:
    """Raises MissingExtra where gRPC is not installed."""
    try:
        from inferflow.client.oip.line import LineOptions
        from inferflow.client.oip.runner import RemoteModels, RemoteOptions
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="a model on another host") from missing
    predator = settings.predator
    tls = channel_tls(settings.tls, plain_text=predator.plain_text)
    fleet_tls = channel_tls(settings.tls, plain_text=settings.fleet.plain_text)
    headers = [("predator-caller-id", predator.caller_id)]
    token = predator.caller_token.get_secret_value()
    if token:
        headers.append(("predator-auth-token", token))
    key = settings.fleet.api_key.get_secret_value()
    line = LineOptions(headers=tuple(headers), tls=tls, hedge=predator.hedge)
    return RemoteModels(RemoteOptions(line, fleet_key=key, fleet_tls=fleet_tls))
