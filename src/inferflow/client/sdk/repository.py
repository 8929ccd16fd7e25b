"""A fleet's registry as the Open Inference Protocol lists a repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from inferflow._proto.pool import message_class

READY, UNAVAILABLE = "READY", "UNAVAILABLE"
_ON_DEMAND = "no worker holds it; one loads it when it is asked for"

_Index = message_class("inference.RepositoryIndexResponse")


def repository_index(models: Iterable[Mapping[str, Any]], *, only_ready: bool) -> Any:
    """Every version of every model, as a manager lists them; ready where a worker holds it."""
    index = _Index()
    for model in models:
        for version in model["versions"]:
            is_ready = bool(version["loaded_on"]) and not version["problem"]
            if is_ready or not only_ready:
                index.models.add(
                    name=model["name"],
                    version=version["version"],
                    state=READY if is_ready else UNAVAILABLE,
                    reason="" if is_ready else version["problem"] or _ON_DEMAND,
                )
    return index
