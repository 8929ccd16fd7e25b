"""The shape of a DAG: order, levels, ancestors, and the cycle when it is none.

A graph is `feeds`: step → the steps that wait for it. Every step is a key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

Feeds = Mapping[str, Sequence[str]]


def complete(feeds: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Every step a key, every edge once, in the order first written."""
    result: dict[str, tuple[str, ...]] = {
        step: tuple(dict.fromkeys(children)) for step, children in feeds.items()
    }
    for children in list(result.values()):
        for child in children:
            result.setdefault(child, ())
    return result


def reverse(feeds: Feeds) -> dict[str, tuple[str, ...]]:
    """step → the steps it needs (or, given needs, the steps it feeds)."""
    needs: dict[str, list[str]] = {step: [] for step in feeds}
    for step, children in feeds.items():
        for child in children:
            needs[child].append(step)
    return {step: tuple(parents) for step, parents in needs.items()}


def topological_order(feeds: Feeds) -> list[str]:
    """Kahn's algorithm; ties keep the written order. Steps on a cycle are left out."""
    waiting = {step: len(parents) for step, parents in reverse(feeds).items()}
    ready = deque(step for step, count in waiting.items() if count == 0)
    order: list[str] = []
    while ready:
        step = ready.popleft()
        order.append(step)
        for child in feeds[step]:
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return order


def find_cycles(feeds: Feeds) -> list[list[str]]:
    """Cycles that share no step, as paths that end where they began; none in a DAG."""
    cycles: list[list[str]] = []
    left = dict(feeds)
    while cycle := find_cycle(left):
        cycles.append(cycle)
        left = {
            step: tuple(child for child in children if child not in cycle)
            for step, children in left.items()
            if step not in cycle
        }
    return cycles


def find_cycle(feeds: Feeds) -> list[str]:
    """One cycle as a path that ends where it began, or an empty list."""
    stuck = set(feeds) - set(topological_order(feeds))
    if not stuck:
        return []
    needs = reverse(feeds)
    # Every stuck step has a stuck parent, so walking up must meet a step twice.
    step = next(name for name in feeds if name in stuck)
    path: list[str] = []
    while step not in path:
        path.append(step)
        step = next(parent for parent in needs[step] if parent in stuck)
    around = [*path[path.index(step) :], step]
    return around[::-1]


def levels(feeds: Feeds) -> dict[str, int]:
    """step → longest path from a root. Steps on one level never read each other."""
    level = dict.fromkeys(feeds, 0)
    for step in topological_order(feeds):
        for child in feeds[step]:
            level[child] = max(level[child], level[step] + 1)
    return level


def ancestors(feeds: Feeds) -> dict[str, frozenset[str]]:
    """step → every step that has ended before it starts. On a cycle, a step is above itself."""
    needs = reverse(feeds)
    result: dict[str, frozenset[str]] = {}
    for step in feeds:
        above: set[str] = set()
        pending = list(needs[step])
        while pending:
            parent = pending.pop()
            if parent not in above:
                above.add(parent)
                pending.extend(needs[parent])
        result[step] = frozenset(above)
    return result
