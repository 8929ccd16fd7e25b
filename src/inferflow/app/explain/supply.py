"""The ways a request may bring a column, in the words of its JSON form.

They follow the rules by which the engine binds a request (`engine.binding`); a test binds a
request in each of these ways.
"""

from __future__ import annotations

from inferflow.plan.columns import CONTEXT
from inferflow.plan.plan import RequestColumn


def ways_to_give(requested: RequestColumn) -> list[str]:
    """Places in a request, the most exact first. Empty for what no request needs to bring."""
    if requested.role == "constant":
        return []
    bare = requested.name.removeprefix(CONTEXT)
    last = bare.rpartition(":")[2]
    is_key = requested.role == "key" or not requested.wheres
    ways = _key_ways(bare, last) if is_key else _value_ways(bare, last)
    if requested.slate is not None:
        ways += [f"slate_features.{name}" for name in dict.fromkeys((bare, last))]
    return list(dict.fromkeys(ways))


def _key_ways(bare: str, last: str) -> list[str]:
    ways = []
    if ":" in bare:
        ways.append(f"entities.{bare.partition(':')[0]}")
    if last.endswith("_id"):
        ways.append(f"entities.{last.removesuffix('_id')}")
    return [*ways, f"entities.{last}", f"context.{last}", f"features.<entity>.{last}"]


def _value_ways(bare: str, last: str) -> list[str]:
    names = dict.fromkeys((bare, last))
    return [f"context.{name}" for name in names] + [f"features.<entity>.{name}" for name in names]
