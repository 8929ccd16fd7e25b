"""What models and their files may be called, and how long a text may be.

Names travel: into URLs, metric labels, file systems of workers on three kinds of systems. So they
are plain ASCII, none is a reserved device name, and none can climb out of a folder. The manager's
own store does not use them anyway: there, files lie under ids it made itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from inferflow.errors import InvalidInput

LONGEST_NAME = 128
LONGEST_PATH = 200
DEEPEST_PATH = 4
PREFETCH = "prefetch"
"""The serving option that asks for a version to be in memory on every worker."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_SHOWN = 60


def check_model_name(name: str) -> str:
    """The name itself. Raises InvalidInput for one that could mislead somebody or something."""
    if not name:
        raise InvalidInput("model: a name is missing")
    is_plain = len(name) <= LONGEST_NAME and _NAME.fullmatch(name) and not name.endswith(".")
    if not is_plain or ".." in name or _DEVICES.fullmatch(name):
        raise InvalidInput(
            f"model: {name[:_SHOWN]!r} cannot be a name; use letters, digits, '.', '_' and '-', "
            f"starting with a letter or digit, at most {LONGEST_NAME}"
        )
    return name


def check_file_paths(paths: Iterable[str]) -> None:
    """Raises InvalidInput unless each is a plain relative path, and all can lie side by side."""
    seen: set[str] = set()
    for path in paths:
        _check_file_path(path)
        # Some file systems do not tell cases apart.
        folded = path.lower()
        if folded in seen:
            raise InvalidInput(f"files: {path!r} is there twice")
        seen.add(folded)
    for path in seen:
        parents = path.split("/")[:-1]
        for depth in range(1, len(parents) + 1):
            parent = "/".join(parents[:depth])
            if parent in seen:
                raise InvalidInput(f"files: {parent!r} is both a file and a folder")


def check_version(version: str) -> int | None:
    """A version's number, or None where it is left to the manager. Raises InvalidInput."""
    if not version:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,17}", version):
        raise InvalidInput(f"version: {version[:_SHOWN]!r} is not a positive whole number")
    return int(version)


def check_text(field: str, text: str, *, longest: int) -> str:
    """Free text that can be kept and shown. Raises InvalidInput."""
    if len(text) > longest:
        raise InvalidInput(f"{field}: {len(text)} characters; at most {longest}")
    odd = next((c for c in text if not c.isprintable() and c not in "\n\t"), None)
    if odd is not None:
        raise InvalidInput(f"{field}: holds the control character {odd!r}")
    return text


def _check_file_path(path: str) -> None:
    segments = path.split("/")
    is_plain = (
        0 < len(path) <= LONGEST_PATH
        and len(segments) <= DEEPEST_PATH
        and all(_SEGMENT.fullmatch(s) and not s.endswith(".") for s in segments)
        and not any(_DEVICES.fullmatch(s) for s in segments)
    )
    if not is_plain:
        raise InvalidInput(
            f"files: {path[:_SHOWN]!r} cannot be a file's path; use names of letters, digits, '.', "
            f"'_' and '-' separated by '/', at most {DEEPEST_PATH} deep and {LONGEST_PATH} long"
        )
