"""What a person types to run this program again."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def program() -> str:
    """`inferflow` where that finds this very program, else the path it was started by."""
    started = Path(sys.argv[0])
    found = shutil.which("inferflow")
    if started.stem != "inferflow" or not started.exists():
        return "inferflow"
    if found is not None and Path(found).resolve() == started.resolve():
        return "inferflow"
    return shlex.quote(str(started))


def interpreter() -> str:
    """The Python that has Inferflow: `python`, or the one beside the program."""
    run = program()
    return "python" if run == "inferflow" else shlex.quote(str(Path(sys.argv[0]).parent / "python"))
