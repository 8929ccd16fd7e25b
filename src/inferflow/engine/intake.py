"""What a request must be before a plan can run it.

Each function looks at one part of a request and gives the engine what it needs of it, or raises
InvalidRequest with the place. None of them looks at a value: that is the business of the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from inferflow.engine.binding import Binding
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest
from inferflow.engine.slates import Slates
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan


def check_parts(request: ScoreRequest, limits: Limits) -> None:
    """Refuse what is no object, a request about nothing, and more features than are allowed."""
    entities, context = request.entities, request.context
    features, slate_features = request.features, request.slate_features
    if not (type(entities) is type(context) is type(features) is type(slate_features) is dict):
        for part in ("entities", "context", "features", "slate_features"):
            _check_object(part, getattr(request, part))
    if not entities:
        raise InvalidRequest("entities", "the request names no entity")
    given = len(context) + len(slate_features)
    for entity, named in features.items():
        _check_object(f"features.{entity}", named)
        given += len(named)
    if given:
        limits.check("features", given, "features")


def row_count(entities: Mapping[str, Sequence[str]]) -> int:
    """How many targets there are. An entity with one id stands for all of them."""
    rows = max(map(len, entities.values()))
    for name, ids in entities.items():
        if len(ids) != rows and len(ids) != 1:
            largest = next(other for other, most in entities.items() if len(most) == rows)
            raise InvalidRequest(
                f"entities.{name}",
                f"has {len(ids)} ids while {largest!r} has {rows}",
                "every entity has one id, or as many as there are targets",
            )
    return rows


def target_ids(
    binding: Binding, request: ScoreRequest, entities: dict[str, list[str]], rows: int
) -> list[str]:
    """Ids of the entity that is being ranked: as the config says, else the one with many ids,
    else the one given as a list; the last, where that leaves several."""
    name = binding.id_entity
    if name is None and len(entities) == 1:
        (name,) = entities
    if name is None and rows > 1:
        return next(ids for ids in reversed(entities.values()) if len(ids) == rows)
    if name is None:
        listed = [e for e in entities if not isinstance(request.entities[e], str | int)]
        name = (listed or list(entities))[-1]
    ids = entities[name]
    return ids if len(ids) == rows else ids * rows


def slates_of(request: ScoreRequest, plan: Plan, rows: int, limits: Limits) -> Slates | None:
    """The pairs or slates of a request; None when it is about targets alone."""
    if request.pairs is not None and request.slates is not None:
        raise InvalidRequest("slates", "a request has pairs or slates, not both")
    groups = request.pairs if request.pairs is not None else request.slates
    if groups is None:
        if request.slate_features:
            raise InvalidRequest("slate_features", "there are no pairs or slates to belong to")
        return None
    kind = "pairs" if request.pairs is not None else "slates"
    if not plan.has_slate_steps:
        raise InvalidRequest(
            kind,
            f"{plan.config_id!r} has no step that scores {kind}",
            "set slate_component on one",
        )
    return Slates.of("pairs" if kind == "pairs" else "slates", groups, rows, limits)


def budget_ms(request: ScoreRequest) -> float | None:
    """The time a request gives itself; None when it does not say."""
    given = request.deadline_ms
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or isnan(given):
        raise InvalidRequest("deadline_ms", f"{given!r} is not a number of milliseconds")
    if given < 0:
        raise InvalidRequest("deadline_ms", f"{given} ms is in the past")
    return float(given)


def _check_object(field: str, given: Any) -> None:
    if not isinstance(given, Mapping):
        raise InvalidRequest(field, f"names with values are wanted, not {type(given).__name__}")
