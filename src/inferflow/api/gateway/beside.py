"""What travels beside an HTTP request: who asks, its id, its trace, and how long it may take."""

from __future__ import annotations

import math
import re

from starlette.requests import HTTPConnection

from inferflow.api.gateway.ports import Beside, Bounds, Caller
from inferflow.errors import InvalidRequest

DEADLINE = "x-deadline-ms"
TIMEOUT = "timeout"
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def beside(asked: HTTPConnection, caller: Caller, bounds: Bounds) -> Beside:
    """Raises InvalidRequest for a deadline that is none."""
    trace = asked.headers.get("traceparent", "")
    return Beside(
        credential=caller.credential,
        request_id=asked.state.request_id,
        trace=trace if _TRACE.fullmatch(trace) else "",
        deadline_ms=_deadline(asked, bounds),
    )


def _deadline(asked: HTTPConnection, bounds: Bounds) -> float:
    """The header, else `timeout` of the query, else the usual; never longer than allowed."""
    given, name = asked.headers.get(DEADLINE), DEADLINE
    if given is None:
        given, name = asked.query_params.get(TIMEOUT), TIMEOUT
    if given is None:
        return bounds.default_deadline_ms
    try:
        wanted = float(given)
    except ValueError:
        wanted = math.nan
    if not wanted > 0:
        raise InvalidRequest(name, f"{given[:40]!r} is not a number of milliseconds above 0")
    return min(wanted, bounds.max_deadline_ms)
