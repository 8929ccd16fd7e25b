"""Starts the child process that looks at a model, and says what its end means.

However the child ends, with an answer, without one, or not at all, the caller learns in a sentence
what is wrong with the model. Nothing of the manager's environment reaches the child: there may be
secrets in it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from inferflow.errors import ModelUnreadable, RegistryFailed
from inferflow.serving.manager.intake.findings import Findings, from_text
from inferflow.serving.manager.intake.limits import IntakeLimits
from inferflow.serving.manager.intake.request import Request
from inferflow.serving.manager.storage.records import FileInfo

_CHILD = "inferflow.serving.manager.intake.child"
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LD_LIBRARY_PATH", "TMPDIR")
_LONGEST_ANSWER = 4 << 20
_LONGEST_COMPLAINT = 64 << 10
_PATIENCE_S = 5.0


async def check_model(
    model: str, folder: Path, files: Sequence[FileInfo], limits: IntakeLimits
) -> Findings:
    """What a model in a folder of its own takes and gives. Raises ModelUnreadable."""
    sizes = {file.path: file.size for file in files}
    request = Request(model, str(folder.absolute()), sizes, limits)
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        # The folder's files are not ours: none of them may be taken for a module.
        "-P",
        "-m",
        _CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env=_environment(),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limits.seconds):
            said, errors = await _ask(child, request)
    except TimeoutError as late:
        why = f"looking at it takes longer than {limits.seconds:g} s"
        raise ModelUnreadable(model, why) from late
    finally:
        await _end(child)
    return _understood(model, child.returncode, said, errors)


def _understood(model: str, status: int | None, said: bytes, errors: bytes) -> Findings:
    if status != 0:
        raise _why_it_ended(model, status or 0, errors)
    try:
        answer = from_text(said.decode())
    except (ValueError, KeyError, TypeError) as failed:
        raise ModelUnreadable(model, "its trial ended without an answer") from failed
    if isinstance(answer, Findings):
        return answer
    raise ModelUnreadable(model, answer.why, answer.hint)


def _why_it_ended(model: str, status: int, errors: bytes) -> Exception:
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return ModelUnreadable(model, "looking at it takes more time than a trial may have")
    if status < 0:
        name = signal.Signals(-status).name
        return ModelUnreadable(model, f"the process that tried it died of {name}")
    words = errors.decode(errors="replace").strip().splitlines()
    last = words[-1][:200] if words else "nothing was said"
    if "MemoryError" in last or "bad_alloc" in last:
        return ModelUnreadable(model, "looking at it takes more memory than a trial may have")
    return RegistryFailed(f"models cannot be tried here: {last}")


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"}


async def _ask(child: asyncio.subprocess.Process, request: Request) -> tuple[bytes, bytes]:
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdin.write(request.as_text().encode())
    child.stdin.close()
    answered = await asyncio.gather(
        _read(child.stdout, _LONGEST_ANSWER), _read(child.stderr, _LONGEST_COMPLAINT)
    )
    await child.wait()
    return answered


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """A child that says more than anyone wants to know is not listened to any longer, and waits
    for its end."""
    said = bytearray()
    while len(said) < most and (piece := await stream.read(most - len(said))):
        said += piece
    return bytes(said)


async def _end(child: asyncio.subprocess.Process) -> None:
    """The child and whatever it started, however far it came."""
    if child.returncode is None:
        os.killpg(child.pid, signal.SIGKILL)
    # What is still in its pipes has to be read for them to close. A process that left the group
    # could hold them open; it is not waited for.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            await child.communicate()
