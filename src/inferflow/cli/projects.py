"""Opening the project a command works on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import warn

if TYPE_CHECKING:
    from inferflow.app.flow import Flow
    from inferflow.featurestore import FeatureStore

ProjectDir = Annotated[
    Path, typer.Option("--dir", "-d", metavar="DIR", help="The project's folder.")
]
HERE = Path(".")


def project_root(directory: Path) -> Path:
    """The folder, if it is a project, or if etcd is set, which may have all there is. Any other
    folder is left alone, not filled with state.

    Variables that look like settings and are none are warned of.
    """
    from inferflow.app.checking import is_project
    from inferflow.app.settings import read_settings
    from inferflow.app.settings_report import odd_variables
    from inferflow.errors import InvalidInput

    if not directory.is_dir():
        raise InvalidInput(f"{directory}: there is no such folder")
    if not is_project(directory) and not read_settings(directory).etcd.endpoints:
        raise InvalidInput(
            f"{directory}: not a project, for it has no configs folder, and ETCD_ENDPOINTS is not "
            "set; name one with --dir, or make one with `inferflow init DIR`"
        )
    warn(*(str(odd).removeprefix("note: ") for odd in odd_variables(os.environ)))
    return directory


@contextmanager
def opened_flow(directory: Path) -> Iterator[Flow]:
    """The project, ready to score. A bar shows while its feature files are loaded."""
    from inferflow.app.flow import Flow
    from inferflow.app.wiring import open_embedded
    from inferflow.cli.progress import LoadingBar

    root = project_root(directory)
    with LoadingBar() as bar:
        flow = Flow(open_embedded(root, progress=bar))
    with flow:
        yield flow


@contextmanager
def opened_store(directory: Path) -> Iterator[FeatureStore]:
    """The project's feature store alone, its feature files loaded."""
    from inferflow.app.inputs import find_project
    from inferflow.app.settings import read_settings
    from inferflow.app.wiring import open_store
    from inferflow.cli.progress import LoadingBar

    root = project_root(directory)
    settings = read_settings(root)
    with LoadingBar() as bar:
        store = open_store(find_project(root, settings), settings, progress=bar)
    try:
        yield store
    finally:
        store.backend.close()
