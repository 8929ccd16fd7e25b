"""The models of a project put into a fleet's registry, each version once.

Versions are told apart by their bytes and not by their numbers: a number may be taken there by
other bytes, and the same bytes may have several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from inferflow.client.manager.uploading import files_at
from inferflow.serving.runtime import ModelRepository

Progress = Callable[[str, int, int], None]


class Registry(Protocol):
    """What is needed of `client.manager.FleetAdmin`."""

    def models(self) -> list[dict[str, Any]]: ...

    def upload(
        self,
        name: str,
        files: Mapping[str, Path],
        *,
        version: str = "",
        progress: Progress | None = None,
    ) -> dict[str, Any]: ...


def register(
    registry: Registry, models: ModelRepository, progress: Progress | None
) -> dict[str, str]:
    """The registry's number of each model's highest version. Waits; for a thread."""
    newest: dict[str, str] = {}
    there = {model["name"]: model["versions"] for model in registry.models()}
    for name in models.names():
        known = _numbers(there.get(name, ()))
        for version in models.versions(name):
            file = models.find(name, version)
            if file.digest not in known:
                # A number that is taken by other bytes gives way to the next.
                wanted = "" if version in chain(*known.values()) else version
                files = files_at(file.path.parent)
                made = registry.upload(name, files, version=wanted, progress=progress)
                known[file.digest] = [made["version"]]
            same = known[file.digest]
            newest[name] = version if version in same else same[0]
    return newest


def _numbers(versions: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The numbers each digest has, lowest first."""
    found: dict[str, list[str]] = {}
    for each in sorted(versions, key=lambda one: int(one["version"])):
        found.setdefault(each["digest"], []).append(each["version"])
    return found
