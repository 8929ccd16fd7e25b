"""The process in which somebody else's model is opened: `python -m …intake.child`.

Reads one request from standard input and writes one answer. Everything it needs is imported before
the last fences go up: after that, the files of this installation may be out of its reach.
"""

from __future__ import annotations

import os
import sys

from inferflow.errors import ModelUnreadable
from inferflow.serving.manager.intake.confinement import confine, leave_network
from inferflow.serving.manager.intake.findings import Findings, Refusal, as_text
from inferflow.serving.manager.intake.request import Request


def answer(request: Request) -> Findings | Refusal:
    """What is found in the current folder."""
    from inferflow.serving.manager.intake.inspecting import inspect
    from inferflow.serving.manager.intake.trial import try_model

    try:
        inspect(request.model, request.sizes, request.limits)
        return try_model(request.model, request.limits)
    except ModelUnreadable as refused:
        return Refusal(refused.why, refused.hint)
    except MemoryError:
        return Refusal("looking at it takes more memory than a trial may have")


def main() -> None:
    request = Request.from_text(sys.stdin.read())
    leave_network()
    _import_everything()
    os.chdir(request.folder)
    addresses = request.limits.memory_bytes + 3 * sum(request.sizes.values())
    confine(memory_bytes=addresses, cpu_s=int(request.limits.seconds) + 1)
    sys.stdout.write(as_text(answer(request)))
    sys.stdout.flush()
    # Whatever a hostile model left behind in this process must not run on the way out.
    os._exit(0)


def _import_everything() -> None:
    import onnx.checker  # noqa: F401

    import inferflow.serving.manager.intake.inspecting
    import inferflow.serving.manager.intake.trial
    import inferflow.serving.runtime.onnx  # noqa: F401
    from inferflow.serving.runtime.vendor import import_onnxruntime

    import_onnxruntime()


if __name__ == "__main__":
    main()
