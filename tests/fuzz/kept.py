"""Inputs worth keeping, in `kept/NAME.hex`: one per line, the call's number and then the body.

`python -m tests.fuzz.kept NAME FILE…` adds inputs that a fuzzer has left.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "kept"


def kept() -> Iterator[tuple[str, bytes]]:
    """(where it is kept, input)"""
    for path in sorted(FOLDER.glob("*.hex")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield f"{path.name}:{number}", bytes.fromhex(line)


def keep(name: str, *files: str) -> None:
    path = FOLDER / f"{name}.hex"
    known = set(path.read_text().splitlines()) if path.exists() else set()
    known |= {Path(file).read_bytes().hex() for file in files}
    path.write_text("".join(f"{line}\n" for line in sorted(known, key=lambda hex: (len(hex), hex))))


if __name__ == "__main__":
    keep(*sys.argv[1:])
