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
    """Raises MissingExtra where a service is named without gRPC installed. Close it when done."""

    def __init__(self, settings: Settings) -> None:
        self._line: Line | None = None
        if settings.numerix.address:
            self._options = _options(settings.numerix, settings.telemetry.app_name)
            from inferflow.client.compute import compute_line

            self._line = compute_line(settings.numerix.address, self._options)

    def over(self, expressions: ExpressionBook) -> ComputeRunner:
        """What computes these expressions."""
        if self._line is None:
            return EmbeddedCompute(expressions)
        from inferflow.client.compute import RemoteCompute

        return RemoteCompute(self._line, expressions, self._options)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()


def _options(numerix: NumerixSettings, app_name: str) -> ComputeOptions:
    try:
        from inferflow.client.compute import ComputeOptions
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
    return ComputeOptions(LineOptions(headers=tuple(headers)), numerix.batch_size)
