"""What travels beside an HTTP request: who asks, its id, its trace, and how long it may take."""

from __future__ import annotations

import math

from starlette.requests import HTTPConnection

from inferflow.api.gateway.ports import Beside, Bounds, Caller
from inferflow.errors import InvalidRequest
from inferflow.tracing import TRACEPARENT, TRACESTATE, read_context

DEADLINE = "x-deadline-ms"
TIMEOUT = "timeout"


def beside(asked: HTTPConnection, caller: Caller, bounds: Bounds) -> Beside:
    """Raises InvalidRequest for a deadline that is none."""
    state = ",".join(asked.headers.getlist(TRACESTATE))
    trace = read_context(asked.headers.get(TRACEPARENT, ""), state)
    return Beside(
        credential=caller.credential,
        request_id=asked.state.request_id,
        trace=() if trace is None else trace.headers(),
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
