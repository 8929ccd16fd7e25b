"""What travels beside a message: headers that are read, and headers that go back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

from inferflow.api.rpc import Caller
from inferflow.errors import InferflowError, Overloaded, RateLimited
from inferflow.rpc.headers import (
    APP_VERSION,
    ARM,
    CONFIG_VERSION,
    EXPLAIN,
    PARENTS,
    PUSHBACK,
    RATE_LIMITED,
    REQUEST_ID,
    RETRY_AFTER,
    TARGET,
    USER_ID,
)
from inferflow.telemetry.calls import Call

Headers = dict[str, tuple[str, ...]]
Pairs = tuple[tuple[str, str], ...]

_READ = frozenset({USER_ID, APP_VERSION, TARGET, REQUEST_ID, EXPLAIN, *PARENTS})
_SANE_ID = re.compile(r"[!-~]{1,128}")
_NO = ("0", "false", "off")


def read_headers(metadata: Iterable[tuple[str, Any]] | None) -> Headers:
    """Those that anybody here reads."""
    headers: Headers = {}
    for key, value in metadata or ():
        if key in _READ and value:
            headers[key] = (*headers.get(key, ()), str(value))
    return headers


def request_id(headers: Headers) -> str:
    """The caller's own if it can stand in a log and a header, else a new one."""
    given = headers.get(REQUEST_ID, ("",))[0]
    return given if _SANE_ID.fullmatch(given) else os.urandom(8).hex()


def asks_to_explain(headers: Headers) -> bool:
    return EXPLAIN in headers and headers[EXPLAIN][0].lower() not in _NO


def caller_of(headers: Headers, today: Callable[[], date]) -> Caller:
    target = headers.get(TARGET, ("",))[0]
    parent = next((headers[name][0] for name in PARENTS if name in headers), "") if headers else ""
    return Caller(today, headers.get(USER_ID, ()), headers.get(APP_VERSION, ()), target, parent)


def trailing(call: Call) -> Pairs:
    """What goes back beside an answer, or instead of one."""
    plan, about = call.plan, ((REQUEST_ID, call.request_id), *call.told)
    if plan is None:
        return about
    about = ((CONFIG_VERSION, plan.digest), *about)
    return (*about, (ARM, call.arm)) if call.arm else about


def hints(error: InferflowError) -> Pairs:
    """When to come back, for those who came at a bad time."""
    if isinstance(error, Overloaded | RateLimited):
        wait = str(error.retry_after_ms)
        told = ((RETRY_AFTER, wait), (PUSHBACK, wait))
        return told if isinstance(error, Overloaded) else (*told, (RATE_LIMITED, "1"))
    return ()
