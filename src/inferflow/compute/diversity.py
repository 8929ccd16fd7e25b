"""Re-ranks rows so that similar ones do not follow one another: greedy, in the manner of MMR.

Rows are picked one by one. Each pick takes the row with the largest
`(1 - strength) * relevance - strength * penalty`; of equals the one with the higher score, then
the earlier row. Relevance is the score brought to 0…1 over the rows, so strength means the same
whatever the scale of the score. The penalty of a row is, with a category column, `k / (k + 1)`
when k rows of its category have been picked; with vectors, the largest cosine similarity to a
picked row, at least 0.

Categories cost O(n log n): a pick changes nothing but the standing of its own category, so a
heap with the best row of each is enough. Vectors cost O(n²) with one matrix product per pick.
"""

from __future__ import annotations

import heapq

import numpy as np

from inferflow.compute.marks import Array
from inferflow.errors import ComputeFailed


def diversity(score: Array, group: Array, strength: float) -> Array:
    """1 for the row picked first, then evenly down to 1/n: sorting by it gives the new order."""
    by_score = np.argsort(-score, kind="stable")
    relevance = _relevance(score)[by_score]
    members = group[by_score]
    if group.ndim == 2:
        picks = _picks_by_vector(relevance, members, strength)
    else:
        picks = _picks_by_category(relevance.tolist(), _category_numbers(members), strength)
    reranked: Array = np.empty_like(score)
    reranked[by_score[picks]] = np.arange(score.size, 0, -1, dtype=score.dtype)
    reranked /= score.dtype.type(score.size)
    return reranked


def _relevance(score: Array) -> Array:
    wide = score.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size or (low := finite.min()) == (high := finite.max()):
        return np.where(wide == np.inf, 1.0, 0.0)
    # Halved, because the distance between two finite numbers need not be finite.
    relevance: Array = (wide / 2 - low / 2) / (high / 2 - low / 2)
    return relevance.clip(0.0, 1.0)


def _category_numbers(members: Array) -> list[int]:
    """Categories as 0, 1, 2, …; equal ones share a number, and so do all NaN."""
    if members.dtype != np.object_:
        numbers: list[int] = np.unique(members, return_inverse=True)[1].tolist()
        return numbers
    known: dict[object, int] = {}
    try:
        return [known.setdefault(category, len(known)) for category in members.tolist()]
    except TypeError as unhashable:
        raise ComputeFailed(f"diversity cannot compare these categories: {unhashable}") from None


def _picks_by_category(relevance: list[float], categories: list[int], strength: float) -> list[int]:
    waiting: list[list[int]] = [[] for _ in range(max(categories) + 1)]
    for row in range(len(categories) - 1, -1, -1):
        waiting[categories[row]].append(row)
    best_of_each = []
    for rows in waiting:
        row = rows.pop()
        best_of_each.append(((strength - 1) * relevance[row], row))
    heapq.heapify(best_of_each)

    picks: list[int] = []
    picked = [0] * len(waiting)
    while best_of_each:
        row = best_of_each[0][1]
        picks.append(row)
        category = categories[row]
        picked[category] += 1
        if not waiting[category]:
            heapq.heappop(best_of_each)
            continue
        row = waiting[category].pop()
        penalty = picked[category] / (picked[category] + 1)
        standing = (1 - strength) * relevance[row] - strength * penalty
        heapq.heapreplace(best_of_each, (-standing, row))
    return picks


def _picks_by_vector(relevance: Array, vectors: Array, strength: float) -> list[int]:
    unit = _unit_length(vectors)
    worth = (1 - strength) * relevance
    nearest = np.zeros(len(unit))
    taken = np.zeros(len(unit), np.bool_)
    picks: list[int] = []
    for _ in range(len(unit)):
        standing = worth - strength * nearest
        standing[taken] = -np.inf
        pick = int(standing.argmax())
        picks.append(pick)
        taken[pick] = True
        np.maximum(nearest, unit @ unit[pick], out=nearest)
    return picks


def _unit_length(vectors: Array) -> Array:
    """Vectors scaled to length 1. One that is zero or not finite is similar to nothing."""
    wide = vectors.astype(np.float64)
    wide[~np.isfinite(wide).all(axis=1)] = 0.0
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    wide /= np.where(largest == 0, 1.0, largest)  # squares of huge or tiny numbers would not fit
    length = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    unit: Array = wide / np.where(length == 0, 1.0, length)
    return unit
