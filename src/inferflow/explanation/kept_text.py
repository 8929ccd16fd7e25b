"""Requests a server kept, newest first, one on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from inferflow.tabular import table


def kept_text(requests: Sequence[Mapping[str, Any]]) -> str:
    """The list as a table, or why there is nothing in it."""
    if not requests:
        return "nothing kept: no request failed, was slow, or asked to be recorded"
    rows = [
        [
            each["recording"],
            datetime.fromtimestamp(each["at_ms"] / 1000, UTC).strftime("%H:%M:%S.%f")[:-3],
            each["kept_because"],
            each["model_config_id"] or each["method"],
            each["rows"],
            round(each["duration_us"]),
            each["error"],
            each["longest_step"],
            each["request_id"],
        ]
        for each in requests
    ]
    headers = ["recording", "UTC", "why", "config", "rows", "µs", "error", "longest step"]
    return "\n".join(table([*headers, "request id"], rows))
