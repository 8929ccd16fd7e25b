"""Prints the table of `docs/reference/errors.md`, so that the page cannot say anything else.

python -m inferflow.app.errors_reference docs/reference/errors.md
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from inferflow import errors
from inferflow.api.status import BY_FAULT, BY_KIND
from inferflow.errors import InferflowError
from inferflow.telemetry.reference import with_printed


def kinds() -> Iterator[type[InferflowError]]:
    """Every error there is, as the tree in `inferflow.errors` names them; the root is none."""
    for name in re.findall(r"[├└]── (\w+)", errors.__doc__ or ""):
        yield getattr(errors, name)


def table() -> str:
    head = ["| Error | Who has to act | gRPC | HTTP | Meaning |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(_row, kinds()), ""])


def page(written: str) -> str:
    """A page with its table brought up to date; the rest of it stays."""
    return with_printed(written, table())


def _row(kind: type[InferflowError]) -> str:
    status = BY_KIND.get(kind) or BY_FAULT[kind.fault]
    meaning = re.sub(r"\s+", " ", inspect.getdoc(kind) or "").strip()
    cells = (f"`{kind.__name__}`", kind.fault.value, status.grpc.name, str(status.http), meaning)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page(file.read_text("utf-8")), encoding="utf-8")
