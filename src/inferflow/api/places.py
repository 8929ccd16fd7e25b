"""Places in a request by the names they have on the wire.

The engine names places as its own requests have them: `pairs[17][1]`. A caller of the network
sees `pairs[17].second_target_index`. Only refusals are looked at; good calls pay nothing.
"""

from __future__ import annotations

import re

from inferflow.errors import InferflowError, InvalidRequest

_WIRE = (
    (re.compile(r"(pairs\[\d+\])\[0\]"), r"\1.first_target_index"),
    (re.compile(r"(pairs\[\d+\])\[1\]"), r"\1.second_target_index"),
    (re.compile(r"(slates\[\d+\])(\[\d+\])"), r"\1.target_indices\2"),
)


def on_the_wire(error: InferflowError) -> InferflowError:
    """The same error, with its place as the caller knows it."""
    if not isinstance(error, InvalidRequest):
        return error
    for pattern, name in _WIRE:
        if pattern.fullmatch(error.field):
            return InvalidRequest(pattern.sub(name, error.field), error.what, error.hint)
    return error
