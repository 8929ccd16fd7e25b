"""Whether a column of numbers still looks the way it did.

The first values that are seen are the reference: cut into ten bins of equal share, with one more
for rows without a usable value. Later values are counted into the same bins, a window at a time,
and the window's distance from the reference is the population stability index. Pure: no clock, no
threads, and memory that does not grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Turn = Literal["begun", "over"]

BINS = 10
_LARGEST = 1e100
"""What is larger is no number that anybody meant, and its square is none at all."""
_LEAST_SHARE = 1e-4
"""An empty bin counts as this much, or its distance would be infinite."""


@dataclass(frozen=True, slots=True)
class DriftRule:
    window: int = 1_000
    """Values that are compared at a time; as many are the reference."""
    threshold: float = 0.25
    """A distance that counts: 0.1 is noticeable, 0.25 a different distribution."""
    windows: int = 2
    """So many windows in a row must be that far away."""


@dataclass(frozen=True, slots=True)
class Look:
    """One window beside its reference."""

    psi: float
    mean: float
    std: float
    missing: float
    """The share of rows without a usable value."""


class Histogram:
    """Values of one window, counted into bins; the last bin is for those that are none."""

    def __init__(self, edges: Array) -> None:
        self._edges = edges
        self.counts = np.zeros(len(edges) + 2, np.int64)
        self._total = self._squares = 0.0

    def add(self, values: Array) -> None:
        real = _usable(values)
        bins = np.searchsorted(self._edges, real, side="left")
        self.counts[:-1] += np.bincount(bins, minlength=len(self.counts) - 1)
        self.counts[-1] += len(values) - len(real)
        self._total += float(real.sum())
        self._squares += float(np.square(real).sum())

    @property
    def size(self) -> int:
        return int(self.counts.sum())

    def shares(self) -> Array:
        shares: Array = self.counts / max(1, self.size)
        return shares

    def beside(self, reference: Array) -> Look:
        real = self.size - int(self.counts[-1])
        mean = self._total / real if real else 0.0
        variance = max(0.0, self._squares / real - mean * mean) if real else 0.0
        missing = float(self.shares()[-1])
        return Look(psi(reference, self.shares()), mean, variance**0.5, missing)


def psi(expected: Array, actual: Array) -> float:
    """The population stability index of two lists of shares: 0 when they are equal."""
    expected, actual = np.maximum(expected, _LEAST_SHARE), np.maximum(actual, _LEAST_SHARE)
    return float(((actual - expected) * np.log(actual / expected)).sum())


def edges_of(values: Array) -> Array:
    """Where to cut values so that each bin has about the same share; fewer where many are equal."""
    real = _usable(values)
    if not len(real):
        return np.zeros(1)
    cuts: Array = np.unique(np.quantile(real, np.linspace(0, 1, BINS + 1)[1:-1]))
    return cuts


def _usable(values: Array) -> Array:
    found: Array = values[np.abs(values) < _LARGEST]
    return found


class DriftWatch:
    """One column. Values go in, and what is to be told comes out."""

    def __init__(self, rule: DriftRule) -> None:
        self._rule = rule
        self._first: list[Array] = []
        self._seen = 0
        self._reference: Array | None = None
        self._edges: Array = np.zeros(0)
        self._window: Histogram | None = None
        self._far = 0
        self.is_drifting = False
        self.last: Look | None = None
        """The window that was compared last."""

    def add(self, values: Array) -> Turn | None:
        """Whether an episode of drift has begun or is over with these values."""
        if self._window is None:
            self._learn(values)
            return None
        self._window.add(values)
        if self._window.size < self._rule.window:
            return None
        assert self._reference is not None
        self.last = self._window.beside(self._reference)
        self._window = Histogram(self._edges)
        return self._judge(self.last.psi)

    def _learn(self, values: Array) -> None:
        self._first.append(values)
        self._seen += len(values)
        if self._seen < self._rule.window:
            return
        known = np.concatenate(self._first)
        self._first = []
        self._edges = edges_of(known)
        learnt = Histogram(self._edges)
        learnt.add(known)
        self._reference = learnt.shares()
        self._window = Histogram(self._edges)

    def _judge(self, distance: float) -> Turn | None:
        """It takes several windows to begin an episode, and half the distance to end it."""
        self._far = self._far + 1 if distance >= self._rule.threshold else 0
        if not self.is_drifting and self._far >= self._rule.windows:
            self.is_drifting = True
            return "begun"
        if self.is_drifting and distance < self._rule.threshold / 2:
            self.is_drifting = False
            return "over"
        return None
