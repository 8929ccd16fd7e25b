"""Run as a process of its own: pushes configs in children that are killed in the middle.

    python crash_pusher.py FOLDER steps     a child is killed at every single thing it does
    python crash_pusher.py FOLDER KILLS     KILLS children, each killed after some pushes

After each death the store is opened anew and checked; the process fails when it is not whole.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from inferflow.configstore import DirectoryStore, Draft

FOLDER = Path(sys.argv[1])


def store() -> DirectoryStore:
    return DirectoryStore(FOLDER / "configs", FOLDER / "history")


def push(number: int) -> None:
    # The format changes every third time, so that the file does, too.
    text = f'{{"response_config": {{"features": ["a{number}"]}}}}\n'
    store().push(Draft("ranker", text, "yaml" if number % 3 else "json", f"pid {os.getpid()}"))


def check() -> int:
    """What was pushed last, which must be a version and the one file there is."""
    opened = store()
    folder = opened.current()
    assert not folder.unreadable, folder.unreadable
    history = opened.history("ranker")
    assert [each.number for each in history] == list(range(1, len(history) + 1))
    for version in history:
        opened.text(version)
    if history:
        assert folder.documents["ranker"].text == opened.text(history[-1])
    files = os.listdir(FOLDER / "configs")
    assert len(files) == min(1, len(history)), files
    return len(history)


def die_at(step: int) -> None:
    """End this process as hard as can be, at the n-th thing it asks of the system."""
    left = [step]

    def watch(event: str, _: tuple[object, ...]) -> None:
        if event.startswith(("open", "os.", "fcntl", "tempfile")) and event != "os.kill":
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def at_every_step() -> None:
    push(0)  # what is imported on first use is imported now
    for first in range(3):
        for step in range(10_000):
            before = check()
            child = os.fork()
            if child == 0:
                die_at(step)
                push(before + first)
                os._exit(0)
            _, ended = os.waitpid(child, 0)
            assert check() in (before, before + 1)
            if ended == 0:
                break
            assert os.WIFSIGNALED(ended), "the child failed on its own"
        else:
            raise AssertionError("no push came to its end")


def after_some_pushes(kills: int) -> None:
    for kill in range(kills):
        before = check()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            number = before
            while True:
                number += 1
                push(number)
                os.write(writer, b".")
        for _ in range(kill % 5):
            os.read(reader, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert check() >= before + kill % 5
        os.close(reader)
        os.close(writer)


if __name__ == "__main__":
    (FOLDER / "configs").mkdir(parents=True, exist_ok=True)
    if sys.argv[2] == "steps":
        at_every_step()
    else:
        after_some_pushes(int(sys.argv[2]))
    sys.stdout.write(f"{check()}\n")
