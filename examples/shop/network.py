"""One hidden layer in numpy, trained with Adam on yes/no outcomes.

The logit of a situation is a signed sum of one function over one or more blocks of features,
plus a linear term: `sum(sign · f(block)) + extra · weight + bias`. One positive block is an
ordinary network (pages); a positive and a negative one compare two things by the same
measure (pairs), so swapping them turns the answer round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

HIDDEN = 16
EPOCHS = 30
BATCH = 512
RATE = 0.005
DECAY = 1e-4


@dataclass
class Weights:
    """f(x) = tanh(x @ inner + shift) @ outer, on raw (not standardised) features."""

    inner: np.ndarray
    shift: np.ndarray
    outer: np.ndarray
    extra: np.ndarray
    bias: np.ndarray


def fit(
    blocks: Sequence[tuple[float, np.ndarray]],
    extra: np.ndarray,
    happened: np.ndarray,
    *,
    seed: int,
    balanced: bool = False,
) -> Weights:
    """Learn from (sign, features) blocks. `balanced` keeps the bias at zero."""
    rng = np.random.default_rng(seed)
    everything = np.concatenate([block for _, block in blocks]).astype(np.float64)
    mean, scale = everything.mean(axis=0), everything.std(axis=0)
    scaled = [(sign, (block.astype(np.float64) - mean) / scale) for sign, block in blocks]
    weights = Weights(
        inner=rng.normal(0.0, 1.0 / np.sqrt(len(mean)), (len(mean), HIDDEN)),
        shift=np.zeros(HIDDEN),
        outer=rng.normal(0.0, 1.0 / np.sqrt(HIDDEN), HIDDEN),
        extra=np.zeros(extra.shape[1]),
        bias=np.zeros(1),
    )
    adam = _Adam(weights)
    for _ in range(EPOCHS):
        order = rng.permutation(len(happened))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = [(sign, block[rows]) for sign, block in scaled]
            slope = _slope(weights, batch, extra[rows], happened[rows])
            if balanced:
                slope.bias[:] = 0.0
            adam.step(weights, slope)
    # Standardising is linear, so it disappears into the first layer.
    weights.shift = weights.shift - (mean / scale) @ weights.inner
    weights.inner = weights.inner / scale[:, None]
    return weights


def probability(
    weights: Weights, blocks: Sequence[tuple[float, np.ndarray]], extra: np.ndarray
) -> np.ndarray:
    logit = extra @ weights.extra + weights.bias
    for sign, block in blocks:
        logit = logit + sign * (np.tanh(block @ weights.inner + weights.shift) @ weights.outer)
    return 1.0 / (1.0 + np.exp(-logit))


def _slope(
    weights: Weights,
    blocks: Sequence[tuple[float, np.ndarray]],
    extra: np.ndarray,
    happened: np.ndarray,
) -> Weights:
    """The gradient of the mean log loss."""
    miss = (probability(weights, blocks, extra) - happened) / len(happened)
    slope = Weights(
        inner=DECAY * weights.inner,
        shift=np.zeros_like(weights.shift),
        outer=DECAY * weights.outer,
        extra=extra.T @ miss,
        bias=np.array([miss.sum()]),
    )
    for sign, block in blocks:
        hidden = np.tanh(block @ weights.inner + weights.shift)
        back = sign * miss[:, None] * weights.outer * (1.0 - hidden**2)
        slope.outer += sign * (miss @ hidden)
        slope.inner += block.T @ back
        slope.shift += back.sum(axis=0)
    return slope


class _Adam:
    """Kingma and Ba's step size rule."""

    def __init__(self, weights: Weights) -> None:
        self._names = [field.name for field in fields(weights)]
        self._mean = {name: np.zeros_like(getattr(weights, name)) for name in self._names}
        self._square = {name: np.zeros_like(getattr(weights, name)) for name in self._names}
        self._steps = 0

    def step(self, weights: Weights, slope: Weights) -> None:
        self._steps += 1
        for name in self._names:
            gradient = getattr(slope, name)
            mean, square = self._mean[name], self._square[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            ahead = mean / (1.0 - 0.9**self._steps)
            spread = np.sqrt(square / (1.0 - 0.999**self._steps)) + 1e-8
            setattr(weights, name, getattr(weights, name) - RATE * ahead / spread)
