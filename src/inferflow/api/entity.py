"""Entities the wire does not name: what the target ids are ids of, and what headers add.

A Predict request does not say what it ranks. The config may, with `id_column`; else it is the
one key column that neither a step nor the request's context supplies. A context value may also be
named like the entity of a key column (`user` for `context:user:user_id`); it is then taken as
that entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from inferflow.engine.binding import Binder, Names, Signature, key_origin, signature_of
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan
from inferflow.plan.problems import closest_hint, nearest
from inferflow.plan.spec import CONTEXT

ANY = "id"
"""The name of the ids when no step looks anything up by a key of the request."""

_KEPT = 128


@dataclass(frozen=True, slots=True)
class TargetEntity:
    name: str
    """What the target ids are called in the request the engine sees."""
    aliases: frozenset[str]
    """Names that mean the ids too, so no feature may have them."""
    from_context: tuple[str, ...]
    """Context values that are entities."""
    called: frozenset[str] = frozenset()
    """What a caller may call them; empty when any name will do."""

    def check(self, called: str) -> None:
        """Refuse a name that means something else. Raises InvalidRequest."""
        if self.called and called not in self.called:
            hint = closest_hint(called, self.called) or f"the targets are {self.name!r}"
            raise InvalidRequest(f"entities.{called}", "is not what this config ranks", hint)


class TargetEntities:
    """Answers for one plan, kept per set of context names."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[tuple[str, ...], TargetEntity] = {}

    def of(self, context: tuple[str, ...]) -> TargetEntity:
        found = self._known.get(context)
        if found is None:
            found = target_entity(self._plan, context)
            if len(self._known) < _KEPT:
                self._known[context] = found
        return found


def target_entity(plan: Plan, context: Sequence[str]) -> TargetEntity:
    """Raises InvalidRequest naming `id_column` when it cannot be told."""
    keys = [column.name for column in plan.request_columns if column.role == "key"]
    given = _names((), context)
    open_keys = [key for key in keys if key != plan.id_column and key_origin(key, given) is None]
    from_context = dict.fromkeys(
        name for key in open_keys for name in _entity_names(key) if name in context
    )
    open_keys = [key for key in open_keys if not set(_entity_names(key)) & set(context)]
    if plan.id_column:
        meant = [plan.id_column, *(key for key in open_keys if _agree(key, plan.id_column))]
    elif not keys:
        meant = [ANY]
    else:
        meant = open_keys
        if not meant or not all(_agree(key, meant[0]) for key in meant):
            raise _cannot_tell(open_keys, tuple(context))
    remaining = tuple(name for name in context if name not in from_context)
    name = _widest_name(plan, meant, remaining)
    aliases, called = frozenset({name, *meant}), _all_names(meant, remaining)
    return TargetEntity(name, aliases, tuple(from_context), called if keys else frozenset())


def _cannot_tell(open_keys: Sequence[str], context: Sequence[str]) -> InvalidRequest:
    fix = "bring the others too, as entities or context values, or set id_column in the config"
    if not open_keys:
        what = "the context gives every key column, so nothing is left for the target ids"
        return InvalidRequest("targets", what, "set id_column in the config")
    listed = " or ".join(map(repr, open_keys))
    what = f"the ids may be {listed}: the request brings only one of them"
    return InvalidRequest("targets", what, _misspelt(open_keys, context) or fix)


def _misspelt(open_keys: Sequence[str], context: Sequence[str]) -> str:
    """`'usr' is close to 'user'`: a name the request brings that no column reads, or nothing."""
    for entity in dict.fromkeys(name for key in open_keys for name in _entity_names(key)):
        if brought := nearest(entity, context):
            return f"{brought!r} is close to {entity!r}"
    return ""


def _agree(key: str, other: str) -> bool:
    """Whether two key columns can mean the same ids: `context:product:product_id`, `product_id`."""
    (first, last), (other_first, other_last) = _ends(key), _ends(other)
    return last == other_last and (not first or not other_first or first == other_first)


def _ends(key: str) -> tuple[str, str]:
    bare = key.removeprefix(CONTEXT)
    return (bare.partition(":")[0] if ":" in bare else ""), bare.rpartition(":")[2]


def _entity_names(key: str) -> Iterator[str]:
    """The entities whose id a key column may be."""
    first, last = _ends(key)
    if first:
        yield first
    if last.endswith("_id"):
        yield last.removesuffix("_id")


def _widest_name(plan: Plan, meant: Sequence[str], context: Sequence[str]) -> str:
    """Of the names the engine would accept for these ids, the one most columns understand."""
    asked = [
        column.name
        for column in plan.request_columns
        if column.role == "key" or (column.role == "value" and not column.wheres)
    ]
    first, last = _ends(meant[0])
    candidates = [*meant, meant[0].removeprefix(CONTEXT), last, *([first] if first else [])]
    best, most = meant[0], -1
    for candidate in dict.fromkeys(candidates):
        if candidate in context:
            continue
        names = _names((candidate,), context)
        if not all(_is_entity(key, names) for key in meant):
            continue
        understood = sum(_is_entity(column, names) for column in asked)
        if understood > most:
            best, most = candidate, understood
    return best


def _all_names(meant: Sequence[str], context: Sequence[str]) -> frozenset[str]:
    candidates = {
        name
        for key in meant
        for name in (key, key.removeprefix(CONTEXT), _ends(key)[1], *_entity_names(key))
    }
    return frozenset(
        name
        for name in candidates
        if all(_is_entity(key, _names((name,), context)) for key in meant)
    )


def _is_entity(column: str, names: Names) -> bool:
    try:
        origin = key_origin(column, names)
    except InvalidRequest:  # two readings of the name do not agree
        return False
    return origin is not None and origin.kind == "entity"


def _names(entities: tuple[str, ...], context: Sequence[str]) -> Names:
    return Names((entities, tuple(context), (), (), ""))


class MissingEntities:
    """Which of the entities that headers offer a plan needs, kept per request signature.

    One that is not needed must not be added: it could fit a key column that the request has
    already named in another way.
    """

    def __init__(self, plan: Plan) -> None:
        self._binder = Binder(plan)
        self._known: dict[tuple[Signature, tuple[str, ...]], tuple[str, ...]] = {}

    def of(self, request: ScoreRequest, offered: tuple[str, ...]) -> tuple[str, ...]:
        asked = (signature_of(request), offered)
        found = self._known.get(asked)
        if found is None:
            found = self._tried(request, offered)
            if len(self._known) < _KEPT:
                self._known[asked] = found
        return found

    def _tried(self, request: ScoreRequest, offered: tuple[str, ...]) -> tuple[str, ...]:
        """The fewest that let the request be bound; none when nothing helps."""
        for names in ((), *((name,) for name in offered), offered):
            more = {**request.entities, **dict.fromkeys(names, ())}
            try:
                self._binder.bind(replace(request, entities=more))
            except InvalidRequest:
                continue
            return names
        return ()
