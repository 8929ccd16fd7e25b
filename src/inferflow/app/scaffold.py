"""Writes a small working project to start from.

The files are those of `starter/` beside this module, as they are. An existing folder is only
written to when it is empty.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from inferflow.errors import InvalidInput

CONFIG = "ranker"
REQUEST = "requests/ranker.json"


def write_starter(directory: str | Path) -> tuple[Path, ...]:
    """Write the starter project and return its files.

    Raises InvalidInput when the folder is not empty or cannot be written.
    """
    root = Path(directory)
    try:
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise InvalidInput(f"{root} is not an empty folder; name one that is, or a new one")
        with resources.as_file(resources.files("inferflow.app") / "starter") as starter:
            return tuple(
                _copy(source, root / source.relative_to(starter))
                for source in sorted(starter.rglob("*"))
                if source.is_file()
            )
    except OSError as failed:
        why = failed.strerror or failed
        raise InvalidInput(f"{root}: a project cannot be written here: {why}") from failed


def _copy(source: Path, target: Path) -> Path:
    """The content alone: a package may be installed read-only, a project is to be changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    return target
