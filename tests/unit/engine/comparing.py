"""How an engine's answer is held against a reference's, and how many times."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, settings

TIMES = float(os.environ.get("INFERFLOW_EXAMPLES_TIMES", "1"))
"""Look this many times longer than a quick test run does, and at other cases every time."""


def relaxed(examples: int) -> Callable[[Any], Any]:
    """Settings for tests whose cases take a while to make."""
    return settings(
        max_examples=int(examples * TIMES),
        deadline=None,
        derandomize=TIMES == 1,
        suppress_health_check=[HealthCheck.too_slow],
    )


def alike(got: Any, want: Any) -> bool:
    """Equal down to the last bit, with NaN equal to itself and 0 not to -0."""
    if isinstance(want, tuple):
        return isinstance(got, list) and all(alike(*both) for both in zip(got, want, strict=True))
    if isinstance(want, float) and isinstance(got, float):
        if math.isnan(want) or math.isnan(got):
            return math.isnan(want) and math.isnan(got)
        return got == want and math.copysign(1, got) == math.copysign(1, want)
    return bool(got == want) and type(got) is type(want)


def marked_by(error: str, steps: Sequence[str]) -> set[str]:
    """The steps that marked a row, read off its error text."""
    return {step for step in steps if re.search(rf"(^|; ){re.escape(step)}: ", error)}
