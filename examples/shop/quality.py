"""How well scores tell yes from no."""

from __future__ import annotations

import numpy as np


def auc(scores: np.ndarray, happened: np.ndarray) -> float:
    """The chance that a random yes outscores a random no; ties count half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2.0)[place]
    yes = int(happened.sum())
    no = len(happened) - yes
    return float((rank[happened].sum() - yes * (yes + 1) / 2.0) / (yes * no))
