"""Which way a config's edges point.

The documentation writes what a component feeds; the original's own configs write what it
needs. One graph read the wrong way round would run backwards, so the reading is settled
here, once, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from inferflow.plan.graph import complete, reverse
from inferflow.plan.spec import INIT

Direction = Literal["children", "dependencies"]
Edges = Mapping[str, Sequence[str]]

WHERE = "dag_execution_config.component_dependency"


def settle_direction(
    edges: Edges,
    said: Direction | None,
    reads_from: Callable[[str, str], bool],
    *,
    tie: Direction,
) -> tuple[Direction, str]:
    """The direction and, in words, why. `reads_from(a, b)`: a reads a column that b writes."""
    if said is not None:
        return said, f"edges list {said}, as `direction` says"
    is_listed = any(INIT in listed for listed in edges.values())
    has_list = bool(edges.get(INIT))
    if is_listed and has_list:
        # Whichever way it is read, the root is above every other root: there is a cycle.
        return "children", f"edges list children, but {INIT!r} is on both ends of them"
    if is_listed:
        return "dependencies", f"edges list dependencies, because {INIT!r} is listed as one"
    if has_list:
        return "children", f"edges list children, because {INIT!r} lists some and is listed by none"
    pairs = [(step, other) for step, listed in edges.items() for other in listed]
    down = sum(reads_from(other, step) for step, other in pairs)
    up = sum(reads_from(step, other) for step, other in pairs)
    if down != up:
        found: Direction = "children" if down > up else "dependencies"
        return found, f"edges list {found}, because that is how columns flow"
    return tie, f"edges list {tie}, the custom of this config's shape"


def directed(edges: Edges, direction: Direction) -> dict[str, tuple[str, ...]]:
    """The edges as `feeds`, with the root above every other root."""
    graph = complete(edges)
    feeds = graph if direction == "children" else reverse(graph)
    if INIT not in feeds:
        needs = reverse(feeds)
        roots = tuple(step for step, parents in needs.items() if not parents)
        return {INIT: roots, **feeds}
    needs = reverse(feeds)
    # A component written with no edges at all still runs: it only waits for the rows.
    loose = tuple(step for step, parents in needs.items() if not parents and step != INIT)
    return {**feeds, INIT: (*feeds[INIT], *loose)}
