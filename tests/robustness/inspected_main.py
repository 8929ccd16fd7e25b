"""`inferflow`, and on SIGUSR1 what a process cannot be asked from outside.

It is written as JSON to the file that INSPECTED names: how many tasks are under way, and how many
versions of configs are held ready to score.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from types import FrameType

from inferflow.cli import main
from inferflow.engine.scorer import Scorer


def _tell(number: int, frame: FrameType | None) -> None:
    gc.collect()
    there = gc.get_objects()
    found = {
        "tasks": sum(isinstance(each, asyncio.Task) and not each.done() for each in there),
        "scorers": sum(isinstance(each, Scorer) for each in there),
    }
    with open(os.environ["INSPECTED"], "w", encoding="utf-8") as file:
        json.dump(found, file)


signal.signal(signal.SIGUSR1, _tell)
sys.argv[0] = "inferflow"
main()
