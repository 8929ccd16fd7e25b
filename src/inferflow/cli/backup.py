"""`inferflow backup` and `inferflow restore`: a project and its embedded state as one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.output import AsJson, say, say_json, warn
from inferflow.cli.projects import HERE, ProjectDir

if TYPE_CHECKING:
    from inferflow.app.backup import Manifest

Archive = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, a .tar.gz.")]
Target = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")]


def backup(
    file: Archive,
    directory: ProjectDir = HERE,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the project and its embedded state to one file, while servers go on.

    It holds configs with their history, the feature rows, models, the registry with its model
    files and its secret; keep it as you would keep those. What lies in other systems (etcd,
    Redis, PostgreSQL, object stores) is named and not in it.
    """
    from inferflow.app.backup import take_backup
    from inferflow.app.settings import read_settings
    from inferflow.errors import InvalidInput

    if not directory.is_dir():
        raise InvalidInput(f"{directory}: there is no such folder")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"{file.parent}: there is no such folder")
    taken = take_backup(directory, read_settings(directory), file, now=time.time, replace=force)
    warn(*taken.warnings)
    if as_json:
        say_json({"file": str(file), "size": taken.size, **_facts(taken.manifest)})
        return
    sizes = f"{_size_text(taken.manifest.size)}, {_size_text(taken.size)} packed"
    say(
        f"{file}: {len(taken.manifest.files)} files of {sizes}",
        *(f"not in it: {each}" for each in taken.manifest.elsewhere),
    )


def restore(
    file: Archive,
    directory: Target,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder that is there, with all it holds.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a project folder of a backup, after checking every file of it.

    The folder appears whole or not at all. Stop what serves from a folder before you replace it.
    """
    from inferflow.app.backup import restore_backup

    restored = restore_backup(file, directory, replace=force)
    warn(*restored.notes)
    if as_json:
        say_json({"directory": str(directory), **_facts(restored.manifest)})
        return
    taken_at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(restored.manifest.made_ms / 1000))
    say(f"{directory}: {len(restored.manifest.files)} files, as of {taken_at}")


def _facts(manifest: Manifest) -> dict[str, Any]:
    return {
        "made_by": manifest.made_by,
        "made_ms": manifest.made_ms,
        "files": len(manifest.files),
        "bytes": manifest.size,
        "elsewhere": list(manifest.elsewhere),
    }


def _size_text(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
