"""A project's expressions, wherever they are computed: in this process, or by a service.

What a service needs is loaded when settings name one, and its connection is shared by all plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.engine.ports import ComputeRunner
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.client.compute import ComputeOptions
    from inferflow.client.oip.line import Line


class ProjectCompute:
    """Close it when done."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._service: tuple[Line, ComputeOptions] | None = None

    def over(self, expressions: ExpressionBook) -> ComputeRunner:
        """What computes these expressions. Raises MissingExtra where a service is named and gRPC
        is not installed."""
        if not self._settings.numerix.address:
            return EmbeddedCompute(expressions)
        if self._service is None:
            self._service = _open(self._settings)
        from inferflow.client.compute import RemoteCompute

        line, options = self._service
        return RemoteCompute(line, expressions, options)

    def close(self) -> None:
        if self._service is not None:
            self._service[0].close()


def _open(settings: Settings) -> tuple[Line, ComputeOptions]:
    try:
        from inferflow.client.compute import ComputeOptions, compute_line
        from inferflow.client.oip.line import LineOptions
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="computing on another host") from missing
    numerix = settings.numerix
    tls = channel_tls(settings.tls, plain_text=numerix.plain_text)
    headers = [("numerix-caller-id", settings.telemetry.app_name)]
    token = numerix.auth_token.get_secret_value()
    if token:
        headers.append(("numerix-auth-token", token))
    options = ComputeOptions(
        LineOptions(headers=tuple(headers), tls=tls, hedge=numerix.hedge), numerix.batch_size
    )
    return compute_line(numerix.address, options), options
