"""A project whose configs are in etcd, with the commands and servers that work on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inferflow.app.scaffold import write_starter

from ..servers.etcd import EtcdServer
from .role_process import MAIN, Process
from .serving_process import start

HOME = "/config/inferflow/services/books"
KEY = f"{HOME}/model-config/config-map/ranker".encode()
BOOKS = {"user": "ada", "book": ["1", "2", "3"]}


class Fleet:
    """A project whose configs are in etcd, and nowhere else."""

    def __init__(self, etcd: EtcdServer, folder: Path) -> None:
        self.etcd = etcd
        self.folder = folder
        self.environment = {
            "ETCD_ENDPOINTS": etcd.endpoint,
            "APP_NAME": "books",
            "ETCD_DIAL_TIMEOUT": "2s",
        }
        write_starter(folder)
        self.text = (folder / "configs" / "ranker.yaml").read_text()
        (folder / "configs" / "ranker.yaml").unlink()

    def config(self, *arguments: str, text: str = "", code: int = 0) -> str:
        """`inferflow config …`, and what it says."""
        done = subprocess.run(
            [sys.executable, "-c", MAIN, "config", *arguments, "--dir", str(self.folder)],
            input=text,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    def push(self, text: str, *more: str) -> None:
        self.config("push", "-", "--id", "ranker", "--author", "ann", *more, text=text)

    def serve(self) -> Process:
        return start(self.folder, **self.environment)


def version(process: Process) -> Any:
    (found,) = json.loads(process.get("/configs")[1])
    return found["version"], found["state"]


def changed(text: str) -> str:
    """Another text with the same plan but for a comment."""
    return f"# {len(text)}\n{text}"
