"""A project's expressions, wherever they are computed: in this process, or by a service.

What a service needs is loaded when settings name one, and its connection is shared by all plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferflow.app.remote_settings import NumerixSettings
from inferflow.app.settings import Settings
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.engine.ports import ComputeRunner
from inferflow.errors import InvalidInput, MissingExtra

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
            self._service = _open(self._settings.numerix, self._settings.telemetry.app_name)
        from inferflow.client.compute import RemoteCompute

        line, options = self._service
        return RemoteCompute(line, expressions, options)

    def close(self) -> None:
        if self._service is not None:
            self._service[0].close()


def _open(numerix: NumerixSettings, app_name: str) -> tuple[Line, ComputeOptions]:
    try:
        from inferflow.client.compute import ComputeOptions, compute_line
        from inferflow.client.oip.line import LineOptions
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="computing on another host") from missing
    if not numerix.plain_text:
        raise InvalidInput(
            "numerix.plain_text: a compute service is called without TLS, so far; "
            "set NUMERIX_CLIENT_V1_PLAINTEXT=true if that is meant"
        )
    headers = [("numerix-caller-id", app_name)]
    token = numerix.auth_token.get_secret_value()
    if token:
        headers.append(("numerix-auth-token", token))
    options = ComputeOptions(LineOptions(headers=tuple(headers)), numerix.batch_size)
    return compute_line(numerix.address, options), options
