"""Starting somebody else's server as a child of the test run, and stopping it again.

Servers that refuse to run as root are run as an ordinary user; their folder is then that user's.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerFolder:
    """A folder of its own for one server, outside of the test run's private ones."""

    def __init__(self, name: str, *, user: str | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"inferflow-{name}-"))
        self.user = user
        if user is not None:
            account = pwd.getpwnam(user)
            os.chown(self.path, account.pw_uid, account.pw_gid)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def ordinary_user(*names: str) -> str | None:
    """Whom to run as: nobody else unless this is root, else the first of these that exists."""
    if os.getuid() != 0:
        return None
    known = {account.pw_name for account in pwd.getpwall()}
    return next(name for name in (*names, "nobody") if name in known)


def run_as(user: str | None, command: Sequence[str], folder: Path) -> None:
    """Run a command to its end. Raises with what it said when it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
        **_identity(user),
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}"


class ServerProcess:
    """A server that has said it is ready."""

    def __init__(
        self, command: Sequence[str], folder: Path, *, user: str | None, ready: str
    ) -> None:
        self._said: deque[str] = deque(maxlen=200)
        self._child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **_identity(user),
        )
        self._wait_for(ready)
        self._reading = threading.Thread(target=self._read_on, daemon=True)
        self._reading.start()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._child.send_signal(how)
        self._child.wait(timeout=30)
        self._reading.join(timeout=10)
        assert self._child.stdout is not None
        self._child.stdout.close()

    def pause(self) -> None:
        """Let it hang: it is there, and does nothing."""
        self._child.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)

    def _wait_for(self, ready: str) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._said.append(line)
            if ready in line:
                return
        self._child.wait(timeout=30)
        raise AssertionError("the server ended before it was ready:\n" + "".join(self._said))

    def _read_on(self) -> None:
        assert self._child.stdout is not None
        self._said.extend(self._child.stdout)


def _identity(user: str | None) -> dict[str, object]:
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
