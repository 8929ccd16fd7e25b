"""Which part of a request fills which column of the plan.

Settled once per distinct request signature (the names it brings) and kept in a small
bounded cache, so that a request itself does no name look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.plan.columns import CONTEXT
from inferflow.plan.plan import Column, FeatureStep, Plan, RequestColumn
from inferflow.plan.problems import closest_hint

Signature = tuple[
    tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...], str
]

CACHE_SIZE = 128


@dataclass(frozen=True, slots=True)
class Origin:
    """A named part of the request."""

    kind: Literal["entity", "context", "inline", "slate", "default"]
    name: str
    entity: str = ""
    """Of an inline value, whose it is; of a slate-level one, `pairs` or `slates`."""
    rule: str = ""
    """How the column's name led here, for `explain`."""

    def __str__(self) -> str:
        if self.kind == "inline":
            return f"features.{self.entity}.{self.name}"
        if self.kind == "slate":
            return f"{self.entity.removesuffix('s') or 'slate'}_features.{self.name}"
        field = {"entity": "entities"}
        return f"{field.get(self.kind, self.kind)}.{self.name}"


@dataclass(frozen=True, slots=True)
class Binding:
    targets: tuple[tuple[RequestColumn, Origin], ...]
    slates: tuple[tuple[RequestColumn, Origin], ...]
    pins: dict[str, tuple[tuple[Column, Origin], ...]]
    """step → features whose values the request brings itself."""
    id_entity: str | None
    """The entity whose ids are the targets, where names alone can tell."""
    unused: tuple[str, ...]
    """Parts of the request no column asks for."""
    spare: tuple[Origin, ...]
    """Those of them that are values per target or slate, whose number is checked all the same."""


def signature_of(request: ScoreRequest) -> Signature:
    return (
        tuple(request.entities),
        tuple(request.context),
        _inline_names(request.features) if request.features else (),
        tuple(request.slate_features),
        "pairs" if request.pairs is not None else "slates" if request.slates is not None else "",
    )


def _inline_names(features: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((entity, name) for entity, named in features.items() for name in named)


class Binder:
    """Binds requests to one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[Signature, Binding] = {}
        self._making_room = threading.Lock()

    def bind(self, request: ScoreRequest) -> Binding:
        signature = signature_of(request)
        binding = self._known.get(signature)
        if binding is None:
            binding = _bound(self._plan, Names(signature))
            with self._making_room:
                if len(self._known) >= CACHE_SIZE:
                    # Any entry will do: clients send few distinct signatures unless they misbehave.
                    del self._known[next(iter(self._known))]
                self._known[signature] = binding
        return binding


class Names:
    """What a request brings, by the names its parts can be called."""

    def __init__(self, signature: Signature) -> None:
        entities, context, inline, slate, self.grouping = signature
        for name in (*entities, *context, *slate, *(name for _, name in inline)):
            if not isinstance(name, str):
                raise InvalidRequest(repr(name), "a name is text")
        self.entities = {name: Origin("entity", name) for name in entities}
        self.context = {name: Origin("context", name) for name in context}
        self.inline: dict[str, Origin] = {}
        for entity, name in inline:
            origin = Origin("inline", name, entity)
            for called in (f"{entity}:{name}", name):
                other = self.inline.setdefault(called, origin)
                if other != origin:
                    raise InvalidRequest(str(origin), f"the same name is given as {other}")
        self.slate = {name: Origin("slate", name, self.grouping) for name in slate}
        for name in self.context:
            if name in self.inline:
                raise InvalidRequest(f"context.{name}", f"is also given as {self.inline[name]}")
        for name in self.entities:
            given = self.values(name)
            if given is not None:
                raise InvalidRequest(str(given), f"has the name of entity {name!r}")

    def values(self, name: str) -> Origin | None:
        """A context or inline value of exactly this name."""
        return self.inline.get(name) or self.context.get(name)

    def anything(self, name: str) -> Origin | None:
        return self.entities.get(name) or self.values(name)

    def all(self) -> Iterator[str]:
        yield from self.entities
        yield from self.context
        yield from self.inline
        yield from self.slate


def _bound(plan: Plan, names: Names) -> Binding:
    targets: list[tuple[RequestColumn, Origin]] = []
    slates: list[tuple[RequestColumn, Origin]] = []
    for requested in plan.request_columns:
        if requested.role == "constant":
            targets.append((requested, Origin("default", requested.name)))
            continue
        at_slate = _slate_origin(requested, names)
        if at_slate is not None:
            slates.append((requested, at_slate))
        origin = _target_origin(requested, names)
        if origin is not None:
            targets.append((requested, origin))
        elif (at_slate is None and names.grouping) or _is_wanted_per_target(requested, plan):
            _refuse_missing(requested, names)
    pins = _pins(plan, names)
    used = {_plain(origin) for _, origin in (*targets, *slates)}
    used |= {_plain(origin) for pinned in pins.values() for _, origin in pinned}
    brought = (names.entities, names.context, names.inline, names.slate)
    unused = [
        origin
        for origin in dict.fromkeys(origin for part in brought for origin in part.values())
        if _plain(origin) not in used
    ]
    for origin in unused:
        if origin.kind == "inline" and origin.entity not in names.entities:
            raise InvalidRequest(
                str(origin),
                f"the request has no entity {origin.entity!r}, and no step reads the value",
                closest_hint(origin.entity, names.entities),
            )
    return Binding(
        tuple(targets),
        tuple(slates),
        pins,
        _id_entity(plan, names),
        tuple(map(str, unused)),
        tuple(origin for origin in unused if origin.kind in ("inline", "slate")),
    )


def _is_wanted_per_target(requested: RequestColumn, plan: Plan) -> bool:
    """Whether anything but slate steps reads the column: without slates these do not run."""
    answered = [column for _, column in plan.response.targets]
    return requested.per_target or requested.slate is None or requested.target in answered


def _plain(origin: Origin) -> tuple[str, str, str]:
    return origin.kind, origin.entity, origin.name


def _target_origin(requested: RequestColumn, names: Names) -> Origin | None:
    # A name only the response asks for may be a key column, so it is looked up like one.
    as_key = requested.role == "key" or not requested.wheres
    found = key_origin(requested.name, names) if as_key else _value_origin(requested.name, names)
    if found is None and requested.default is not None:
        return Origin("default", requested.name, rule="default of the config")
    return found


def _slate_origin(requested: RequestColumn, names: Names) -> Origin | None:
    """Slate-level values first; context values hold for a slate as well as for a target."""
    if requested.slate is None or not names.grouping:
        return None
    for candidate, rule in _readings(requested.name):
        found = names.slate.get(candidate) or names.context.get(candidate)
        if found is not None:
            return _by(found, rule)
    return None


def _readings(name: str) -> tuple[tuple[str, str], ...]:
    """What the request may call a column, the best first, and the rule that says so."""
    return (
        (name, "exact name"),
        (name.removeprefix(CONTEXT), "name without context:"),
        (name.rpartition(":")[2], "last segment"),
    )


def _value_origin(name: str, names: Names) -> Origin | None:
    for candidate, rule in _readings(name):
        found = names.values(candidate)
        if found is not None:
            return _by(found, rule)
    found = names.entities.get(name)
    return _by(found, "exact name") if found else None


def key_origin(name: str, names: Names) -> Origin | None:
    """A key column: its exact name wins; other readings must agree."""
    bare = name.removeprefix(CONTEXT)
    for candidate, rule in ((name, "exact name"), (bare, "name without context:")):
        found = names.anything(candidate)
        if found is not None:
            return _by(found, rule)
    first, last = bare.partition(":")[0], bare.rpartition(":")[2]
    hits: dict[tuple[str, str, str], Origin] = {}
    for found, rule in (
        (names.entities.get(first) if ":" in bare else None, "entity of its first segment"),
        (names.anything(last), "last segment"),
        (
            names.entities.get(last.removesuffix("_id")) if last.endswith("_id") else None,
            "entity of its _id name",
        ),
    ):
        if found is not None:
            hits.setdefault(_plain(found), _by(found, rule))
    if len(hits) > 1:
        both = " and ".join(str(origin) for origin in hits.values())
        raise InvalidRequest(name, f"{both} both fit this key column", f"name one of them {name!r}")
    return next(iter(hits.values()), None)


def _by(origin: Origin, rule: str) -> Origin:
    return Origin(origin.kind, origin.name, origin.entity, rule)


def _refuse_missing(requested: RequestColumn, names: Names) -> None:
    where = requested.wheres[0] if requested.wheres else "response_config.features"
    if requested.role == "key":
        known = closest_hint(requested.name.rpartition(":")[2], names.entities)
        raise InvalidRequest(
            "entities",
            f"nothing in the request gives key column {requested.name!r} ({where})",
            known or f"the request has entities {sorted(names.entities)}",
        )
    places = "context or features"
    if requested.slate is not None and names.grouping:
        places = f"context, features or {names.grouping[:-1]}_features"
    raise InvalidRequest(
        "context",
        f"column {requested.name!r} is not given, and {where} reads it",
        closest_hint(requested.name, names.all()) or f"give it in {places}",
    )


def _pins(plan: Plan, names: Names) -> dict[str, tuple[tuple[Column, Origin], ...]]:
    """Values for feature columns that the request brings itself; they win over the store."""
    features = {step.name for step in plan.steps if isinstance(step, FeatureStep)}
    pins: dict[str, list[tuple[Column, Origin]]] = {}
    requested = {column.name for column in plan.request_columns}
    for name, origin in {**names.context, **names.inline}.items():
        column = plan.columns.get(name)
        if column is None or name in requested:
            continue
        if ":" not in name:
            continue  # a bare name is an alias of a score; a request may use it for itself
        if column.step not in features:
            raise InvalidRequest(
                str(origin),
                f"{name!r} is computed by {column.step!r}; only features can be given",
            )
        pins.setdefault(column.step, []).append((column, origin))
    return {step: tuple(pinned) for step, pinned in pins.items()}


def _id_entity(plan: Plan, names: Names) -> str | None:
    if not plan.id_column:
        return None
    origin = key_origin(plan.id_column, names)
    if origin is None or origin.kind != "entity":
        raise InvalidRequest(
            "entities",
            f"id_column {plan.id_column!r} is not among the entities {sorted(names.entities)}",
        )
    return origin.name
