"""Where a worker's models come from.

A source names versions and brings their files to this machine. It is asked when a model is
needed, never watched: what is half-copied is nobody's default version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from inferflow.serving.runtime.repository import ModelFile, ModelRepository


class ModelSource(Protocol):
    """Called from threads, one call at a time; may block."""

    def index(self, *, is_urgent: bool) -> Mapping[str, tuple[str, ...]]:
        """Every model with its versions. The last one is what a caller gets who names none.

        When it is urgent, what was published before this call must be there. Raises Unreachable
        when that cannot be found out."""
        ...

    def fetch(self, model: str, version: str) -> ModelFile:
        """A version's files, on this machine. Raises NotFound or ModelUnreadable."""
        ...


class FolderSource:
    """Models in a folder, `<model>/<version>/model.onnx`; the highest version is the default."""

    def __init__(self, repository: ModelRepository) -> None:
        self._repository = repository

    def index(self, *, is_urgent: bool) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        return {name: self._repository.versions(name) for name in self._repository.names()}

    def fetch(self, model: str, version: str) -> ModelFile:
        return self._repository.find(model, version)
