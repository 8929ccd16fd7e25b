"""Where the features of a row came from: real, missing, expired and so on, per group of features.

Whoever trains on a log must be able to tell a value that was read from one that stood in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.engine.matrix import Matrix
from inferflow.engine.ports import ReadState
from inferflow.plan.plan import FeatureStep, Plan

WORDS = [state.name.lower() for state in ReadState]


def state_columns(plan: Plan) -> list[tuple[str, int]]:
    """The name of each group's column, and a block of the group."""
    return [
        (f"_state:{step.name}:{group.label}", blocks[0])
        for step in plan.steps
        if isinstance(step, FeatureStep) and step.read is not None
        for group, blocks in zip(step.read.groups, step.blocks, strict=True)
    ]


def state_words(pa: Any, block: int, matrices: Sequence[Matrix], counts: Sequence[int]) -> Any:
    """A word per row."""
    codes, at = np.zeros(sum(counts), np.uint8), 0
    for matrix, count in zip(matrices, counts, strict=True):
        states = matrix.states(block)
        if states is not None:
            codes[at : at + count] = states
        at += count
    return pa.array(WORDS, pa.string()).take(pa.array(codes))
