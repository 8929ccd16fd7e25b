"""What etcd says for all configs at once: one object, or a key per field.

    model-config/service-config                      {"v2-logging-type": "arrow"}
    model-config/service-config/v2-logging-type      arrow

A key of its own counts over the object. Of names, case, hyphens and underscores do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from inferflow.configstore.etcd.layout import Layout, compared
from inferflow.errors import InvalidInput
from inferflow.rpc.etcd import Listing


def service_fields(listing: Listing, layout: Layout, known: Collection[str]) -> dict[str, Any]:
    """Fields by their known names; others as they are written. Raises InvalidInput for what is no
    object."""
    names = {compared(name): name for name in known}
    whole: dict[str, Any] = {}
    single: dict[str, Any] = {}
    for key in sorted(listing.entries):
        field = layout.service_field(key.decode(errors="backslashreplace"))
        if field is None:
            continue
        value = _value(listing.entries[key].value)
        if field:
            single[field] = value
        elif isinstance(value, dict):
            whole |= value
        elif value != "":
            raise InvalidInput(f"{key.decode()}: an object is wanted")
    return {names.get(compared(name), name): each for name, each in (whole | single).items()}


def _value(written: bytes) -> Any:
    """JSON where it is any, else the text itself: a field's key may hold `arrow`."""
    text = written.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except ValueError:
        return text
