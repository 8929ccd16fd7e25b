"""Other Python servers of the Open Inference Protocol, each in a virtual environment of its own.

The environments are made once, under `.cache/benchmarks` beside the sources; delete the folder to
have them made anew. All have the ONNX Runtime that is installed here.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from server_process import Server, started

_HERE = Path(__file__).parent
_CACHE = _HERE.parent / ".cache" / "benchmarks"


@dataclass(frozen=True)
class Rival:
    name: str
    package: str
    script: str


RIVALS = (
    Rival("MLServer", "mlserver==1.7.1", "rival_mlserver.py"),
    Rival("KServe", "kserve==0.21.0", "rival_kserve.py"),
)


@contextmanager
def rival_started(rival: Rival, model: str, path: Path, *, core: int | None) -> Iterator[Server]:
    script = str(_HERE / rival.script)
    command = [script, model, str(path), str(_free_port())]
    quiet = {"PYTHONDONTWRITEBYTECODE": "1"}
    python = str(_python_of(rival))
    with started(command, python=python, environment=quiet, core=core) as server:
        yield server


def _python_of(rival: Rival) -> Path:
    """The interpreter of a rival's environment, which is made first if need be."""
    runtime = f"onnxruntime=={version('onnxruntime')}"
    folder = _CACHE / f"{rival.package}-{runtime}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    made = folder / "made"
    if not made.exists():
        print(f"installing {rival.package} …", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, rival.package, runtime], check=True)
        made.touch()
    return python


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
