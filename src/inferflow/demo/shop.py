"""Writes the demo shop as a project folder.

What ships with the package is copied, the feature data is generated. A file that is already
there is never touched, so edits survive a second run and a run that was cut short is completed
by the next one. A folder that holds something else is refused before anything is written.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from inferflow.demo.population import DEFAULT_SEED, Array, FeatureTable, make_shop
from inferflow.errors import InvalidInput

MARKER = ".demo-shop"
"""Says that a folder is a demo shop, and of which seed."""


def write_shop(directory: str | Path, *, seed: int = DEFAULT_SEED) -> tuple[Path, ...]:
    """Write the demo shop into a folder and return the files that were written.

    Expected scores in the sample requests hold for the default seed; other seeds leave them out.
    Raises InvalidInput when the folder is not empty and not a demo shop of this seed, or when
    it cannot be written.
    """
    root = Path(directory)
    try:
        _claim(root, seed)
        absent = ((root / path, source) for path, source in _shipped())
        written = [
            _write(target, _as_shipped(source, seed))
            for target, source in absent
            if not target.exists()
        ]
        return (*written, *_write_features(root / "features", seed))
    except OSError as failed:
        why = failed.strerror or failed
        raise InvalidInput(f"{root}: the demo shop cannot be written here: {why}") from failed


def _claim(root: Path, seed: int) -> None:
    """Mark the folder as a demo shop, or refuse it."""
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"{root} is a file; the demo shop needs a folder")
    root.mkdir(parents=True, exist_ok=True)
    marker, mark = root / MARKER, f"seed {seed}\n"
    if not marker.exists():
        if any(root.iterdir()):
            raise InvalidInput(f"{root} is not empty and not a demo shop; name another folder")
        _write(marker, mark.encode())
    elif (found := marker.read_text(encoding="utf-8")) != mark:
        raise InvalidInput(
            f"{root} is a demo shop of {found.strip()}, not of seed {seed}; name another folder"
        )


def _shipped() -> Iterator[tuple[Path, Traversable]]:
    """Every file of the package's project folder, with its path inside the project."""
    waiting = [(Path(), resources.files("inferflow.demo") / "project")]
    while waiting:
        path, folder = waiting.pop()
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.is_dir():
                waiting.append((path / entry.name, entry))
            else:
                yield path / entry.name, entry


def _as_shipped(source: Traversable, seed: int) -> bytes:
    content = source.read_bytes()
    if seed == DEFAULT_SEED or b'"expect"' not in content or not source.name.endswith(".json"):
        return content
    request = json.loads(content)
    kept = {field: request[field] for field in request if field not in ("expect", "tolerance")}
    return json.dumps(kept, indent=2).encode() + b"\n"


def _write_features(folder: Path, seed: int) -> list[Path]:
    tables = {folder / f"{table.name}.csv": table for table in make_shop(seed).tables}
    return [_write(path, _csv(table)) for path, table in tables.items() if not path.exists()]


def _write(path: Path, content: bytes) -> Path:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
    return path


def _csv(table: FeatureTable) -> bytes:
    columns = {**table.keys, **table.features}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_texts(values) for values in columns.values()), strict=True))
    return text.getvalue().encode()


def _texts(values: Array) -> list[str]:
    """One text per row: the shortest that reads back as the same value, vectors with `:`."""
    if values.ndim == 2:
        return [":".join(row) for row in values.astype(str).tolist()]
    if values.dtype == bool:
        return ["true" if value else "false" for value in values.tolist()]
    return list(values.astype(str).tolist())
