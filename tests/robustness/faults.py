"""What can be taken from processes: files, processors, room on a disk, a network, the right time.
Undone when the block ends.

What needs root skips the test with the reason. Killing and pausing is done by whoever has started a
process (`services.py`, `tests/servers`), slow and broken connections by `tests/e2e/fault_proxy.py`.
Nothing here touches a network or a disk that the test has not made.
"""

from __future__ import annotations

import os
import resource
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest


@contextmanager
def most_files(pid: int, more: int) -> Iterator[None]:
    """A process that may open so many more files than it has, and then none."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # The limit is on numbers of files, which are given out from the lowest that is free.
    highest = max(int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir())
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1 + more, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextmanager
def burning_processors() -> Iterator[None]:
    """Twice as many processes as there are processors, each of which wants a whole one."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


class WallClock:
    """The time of day of processes that are started with `environment`, which can be set while
    they run. How fast time passes for them does not change."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("a clock that can be set needs a C compiler")
        library, self._file = folder / "wall_clock.so", folder / "wall_clock"
        source = Path(__file__).with_name("wall_clock.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self._file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(self._file)}

    def set(self, ahead_s: int) -> None:
        """So much ahead of this machine's, or behind it."""
        with open(self._file, "r+b") as file:
            file.write(struct.pack("q", ahead_s))


def needs_root(for_what: str) -> None:
    if os.geteuid() != 0:
        pytest.skip(f"{for_what} needs root")


def _system(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(command)} is not possible here: {done.stderr.strip()}")


@dataclass(frozen=True)
class Disk:
    """A disk of its own, of a few megabytes."""

    folder: Path

    def fill(self) -> None:
        """Until there is no room for a byte."""
        with open(self._ballast, "ab", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while ballast.write(bytes(size)):
                        pass
                except OSError:
                    continue

    def make_room(self) -> None:
        self._ballast.unlink()

    def protect(self) -> None:
        """Until the block ends nobody writes there."""
        _system("mount", "-o", "remount,ro", str(self.folder))

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    needs_root("a disk that is full")
    folder.mkdir(exist_ok=True)
    _system("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder))
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class Island:
    """A network of its own with one cable to this machine, which can be pulled."""

    def __init__(self, name: str, number: int) -> None:
        self.prefix = ("ip", "netns", "exec", name)
        """Before a command: it then runs over there."""
        self.here = f"10.213.{number}.1"
        self.there = f"10.213.{number}.2"
        self.far = f"{name}-f"
        """The far end of the cable. Pulled there, nobody here is told."""

    def cut(self) -> None:
        _system(*self.prefix, "ip", "link", "set", self.far, "down")

    def mend(self) -> None:
        _system(*self.prefix, "ip", "link", "set", self.far, "up")


@contextmanager
def island() -> Iterator[Island]:
    needs_root("a network of its own")
    name = f"if{uuid4().hex[:8]}"
    made = Island(name, os.getpid() % 250)
    _system("ip", "netns", "add", name)
    try:
        _system("ip", "link", "add", name, "type", "veth", "peer", "name", made.far, "netns", name)
        _system("ip", "address", "add", f"{made.here}/30", "dev", name)
        _system("ip", "link", "set", name, "up")
        _system(*made.prefix, "ip", "address", "add", f"{made.there}/30", "dev", made.far)
        made.mend()
        _system(*made.prefix, "ip", "link", "set", "lo", "up")
        yield made
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
