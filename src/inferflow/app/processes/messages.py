"""What parent and child tell each other, over the child's standard input and output.

Down go its orders, once, and then a word per line. When the line breaks, the parent is gone.
Up go reports, one JSON object per line.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

from inferflow.app.settings import Settings
from inferflow.errors import EngineFault

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Orders:
    """What a child has to know to begin."""

    root: Path
    settings: Settings
    """As the parent read them, with the port it holds: a file changed since must not split them."""
    home: Path
    """Where the snapshot is."""
    parent_port: int
    """The parent's private HTTP, for questions to all processes."""
    number: int
    """Its place, 1 to N."""

    def packed(self) -> bytes:
        # Pickled, because both ends are this very program, and what is read again from text
        # would meet the environment again.
        body = pickle.dumps(self)
        return _LENGTH.pack(len(body)) + body

    @staticmethod
    def read(handle: int) -> Orders:
        """Take them off a file handle, and not a byte more: what follows is for others.

        Raises EngineFault when there are none: this is no child, or its parent is gone.
        """
        (length,) = _LENGTH.unpack(_exactly(handle, _LENGTH.size))
        orders: Orders = pickle.loads(_exactly(handle, length))
        return orders


def _exactly(handle: int, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = os.read(handle, size - len(found))
        if not more:
            raise EngineFault("a process that serves for another was started without orders")
        found += more
    return found


class Word(StrEnum):
    LOOK = "look"
    """Another snapshot is accepted."""
    DRAIN = "drain"
    """End politely."""
    HURRY = "hurry"
    """End now."""


@dataclass(frozen=True, slots=True)
class Started:
    """It listens."""

    http_port: int
    """Where it alone can be asked, from this machine."""


@dataclass(frozen=True, slots=True)
class Took:
    """It has looked at a snapshot."""

    version: str
    refused: Mapping[str, str] = field(default_factory=dict)
    """Configs it could not take up, and why. What it served of them before it still does."""
    not_ready: str = ""
    """Why no call should be sent to it; empty when all is well."""


@dataclass(frozen=True, slots=True)
class CouldNotLook:
    """The snapshot could not be read at all: it serves as before."""

    why: str


@dataclass(frozen=True, slots=True)
class Leaving:
    """It takes no more calls soon, and ends."""


@dataclass(frozen=True, slots=True)
class LastPage:
    """Its metrics after its last call."""

    page: str


Report = Started | Took | CouldNotLook | Leaving | LastPage

_KINDS = {kind.__name__: kind for kind in (Started, Took, CouldNotLook, Leaving, LastPage)}


def written(report: Report) -> bytes:
    return json.dumps([type(report).__name__, asdict(report)]).encode() + b"\n"


def read(line: bytes) -> Report:
    """Raises EngineFault for what no child says."""
    try:
        kind, fields = json.loads(line)
        report: Report = _KINDS[kind](**fields)
        return report
    except (ValueError, TypeError, KeyError) as odd:
        raise EngineFault(f"a child said {line[:100]!r}") from odd
