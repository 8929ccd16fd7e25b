"""Look for bytes that are our fault, guided by what code they reach. Run by `make fuzz`.

The first byte of an input picks the call, the rest is its body. An input that breaks a promise is
left by the fuzzer as a file `crash-…`; `python -m tests.fuzz.kept NAME crash-…` makes it a test.
Give libFuzzer's own options after the script's name, such as `-max_total_time=60`, and a folder to
keep what was learnt for the next time.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["inferflow"]):
    from .calls import Fuzzed, joined, seeds, split
    from .wire_tree import changed

_BLIND = 0.2
"""Share of changes left to libFuzzer, which knows nothing of protobuf."""


def mutate(given: bytes, longest: int, seed: int) -> bytes:
    chance = Random(seed)
    if len(given) < 2 or chance.random() < _BLIND:
        return bytes(atheris.Mutate(given, longest))
    return given[:1] + changed(given[1:], chance, longest - 1)


def main() -> None:
    logging.disable(logging.CRITICAL)
    fuzzed = Fuzzed()
    with tempfile.TemporaryDirectory() as started_from:
        for number, (path, body) in enumerate(seeds()):
            Path(started_from, str(number)).write_bytes(joined(path, body))
        arguments = [sys.argv[0], "-max_len=8192", *sys.argv[1:], started_from]
        atheris.Setup(arguments, lambda given: fuzzed.check(*split(given)), custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
