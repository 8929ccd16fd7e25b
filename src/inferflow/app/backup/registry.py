"""The registry of a manager as files: where they are, and which of them a backup can hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inferflow.app.places import data_dir
from inferflow.app.settings import Settings


@dataclass(frozen=True, slots=True)
class Registry:
    """Places that are files of this machine; None for those that are not, or not there."""

    database: Path | None
    objects: Path | None
    secret: Path | None
    elsewhere: tuple[str, ...]

    def files(self, work: Path) -> Iterator[tuple[str, Path]]:
        """Name in a manager's own folder, and where to read it. The database is copied to `work`
        first; the model files are those the copy refers to."""
        if self.database is None:
            return
        from inferflow.serving.manager.snapshot import copy_registry, objects_of

        copy = work / "registry.db"
        copy.touch(mode=0o600)
        copy_registry(self.database, copy)
        yield "registry.db", copy
        if self.secret is not None:
            yield "secret", self.secret
        if self.objects is not None:
            for name in objects_of(copy):
                yield f"files/{name}", self.objects / name


def registry_of(root: Path, settings: Settings) -> Registry:
    """What the settings name, else places in the project's state."""
    own, chosen = data_dir(root, settings) / "manager", settings.manager
    database = _local(chosen.database or str(own / "registry.db"), "sqlite:///")
    is_there = database is not None and database.exists()
    if database is not None and not is_there:
        return Registry(None, None, None, ())  # there never was a manager
    objects = _local(chosen.files or str(own / "files"), "file://")
    secret = Path(chosen.secret_file) if chosen.secret_file else own / "secret"
    has_secret = not chosen.secret.get_secret_value() and secret.exists()
    elsewhere = [
        *(["the registry, which is in PostgreSQL"] if database is None else []),
        *([f"model files of the registry, which are at {chosen.files}"] if objects is None else []),
        *([] if has_secret else ["the manager's secret, which the settings bring"]),
    ]
    return Registry(database, objects, secret if has_secret else None, tuple(elsewhere))


def _local(place: str, scheme: str) -> Path | None:
    """The path of a place on this machine; None for a place on another."""
    path = place.removeprefix(scheme)
    return None if "://" in path else Path(path)
