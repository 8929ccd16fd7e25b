"""A request, however it arrived: entities, context, inline features, pairs or slates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inferflow.dtypes.keytext import canonical_key, canonical_keys
from inferflow.engine.limits import Limits
from inferflow.errors import CastFailed, InvalidInput, InvalidRequest
from inferflow.plan.problems import closest_hint

Ids = Sequence[str]


class KeyTexts(list[str]):
    """Ids that somebody has checked already: key texts, not too many and not too long."""

    __slots__ = ()


@dataclass(slots=True)
class ScoreRequest:
    config_id: str
    entities: Mapping[str, Any]
    """entity → one id, or a list of them."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """name → a value that holds for every target."""
    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """entity → name → one value per target (or one for all)."""
    pairs: Sequence[Sequence[int]] | None = None
    slates: Sequence[Sequence[int]] | None = None
    slate_features: Mapping[str, Any] = field(default_factory=dict)
    """name → one value per pair or slate."""
    tracking_id: str = ""
    user_id: str = ""
    """Who the request is for, when a header says so; decides routing and sampling."""
    deadline_ms: float | None = None
    legacy: bool = False
    """It came by the older call, the one that answers in text rows; only counted by."""
    wants_inputs: Callable[[str], bool] | None = None
    """Told who asks, says whether to answer with all model inputs before the response columns."""
    parent_entity: str = ""
    """What the request as a whole is about, such as the search it came from; only logged."""
    explain: bool = False
    """Keep what happens on the way, so that the answer can say how it came about."""


_KEYS = frozenset(
    {
        "model_config_id",
        "tracking_id",
        "user_id",
        "entities",
        "context",
        "features",
        "pairs",
        "slates",
        "pair_features",
        "slate_features",
        "deadline_ms",
        "expect",
        "tolerance",
    }
)


def request_from(document: Any, *, config_id: str = "") -> ScoreRequest:
    """A request from its JSON form. `expect` and `tolerance` belong to golden tests."""
    if not isinstance(document, Mapping):
        raise InvalidRequest("request", "an object is wanted")
    for key in document:
        if key not in _KEYS:
            raise InvalidRequest(str(key), "unknown field", closest_hint(str(key), _KEYS))
    for key in ("entities", "context", "features", "pair_features", "slate_features"):
        if not isinstance(document.get(key, {}), Mapping):
            raise InvalidRequest(key, "an object is wanted")
    for key in ("pairs", "slates"):
        if not isinstance(document.get(key, []), list):
            raise InvalidRequest(key, "a list of lists of target indices is wanted")
    if "pair_features" in document and "slate_features" in document:
        raise InvalidRequest("slate_features", "a request has pairs or slates, not both")
    named = document.get("model_config_id", config_id)
    if not named:
        raise InvalidRequest("model_config_id", "is required")
    if config_id and str(named) != config_id:
        raise InvalidRequest("model_config_id", f"is {named!r}, and {config_id!r} was asked for")
    for key in ("model_config_id", "tracking_id", "user_id"):
        if not isinstance(document.get(key, ""), str | int):
            raise InvalidRequest(key, "text is wanted")
    return ScoreRequest(
        config_id=config_id or str(named),
        entities=document.get("entities", {}),
        context=document.get("context", {}),
        features=document.get("features", {}),
        pairs=document.get("pairs"),
        slates=document.get("slates"),
        slate_features=document.get("pair_features") or document.get("slate_features", {}),
        tracking_id=str(document.get("tracking_id", "")),
        user_id=str(document.get("user_id", "")),
        deadline_ms=document.get("deadline_ms"),
    )


def routing_key(request: ScoreRequest, entities: Mapping[str, Sequence[str]]) -> str:
    """Who asks, as stably as the request tells: user, else tracking id, else nothing."""
    return user_of(request, entities) or request.tracking_id


def user_of(request: ScoreRequest, entities: Mapping[str, Sequence[str]]) -> str:
    """The user a request is for; empty when it does not say. Of `entities` only `user_id` and
    `user` matter, as key texts."""
    if request.user_id:
        return request.user_id
    for name in ("user_id", "user"):
        ids = entities.get(name)
        if ids is not None and len(ids) == 1:
            return ids[0]
        if name in request.context:
            try:
                return canonical_key(request.context[name])
            except InvalidInput:  # nothing, or no id: it tells nobody apart
                continue
    return ""


def entity_ids(name: str, given: Any, limits: Limits) -> list[str]:
    """The ids of one entity as key texts."""
    if type(given) is KeyTexts:
        return given
    plain = [given] if type(given) is str else given
    if type(plain) is list and _are_plain_texts(plain, limits):
        return plain[:]
    field = f"entities.{name}"
    if isinstance(given, list):
        ids = list(given)
    elif isinstance(given, Mapping):
        raise InvalidRequest(field, "one id or a list of ids is wanted, not an object")
    elif isinstance(given, str | bytes) or not hasattr(given, "__getitem__"):
        ids = [given]
    else:
        # An array's own values are Python's only through tolist.
        plain = given.tolist() if hasattr(given, "tolist") else list(given)
        ids = plain if isinstance(plain, list) else [plain]
    if not ids:
        raise InvalidRequest(field, "has no ids")
    limits.check("targets", len(ids), field)
    if _are_plain_texts(ids, limits):
        return ids
    try:
        ids = canonical_keys(ids)
    except CastFailed as refused:
        raise InvalidRequest(f"{field}[{refused.position}]", refused.what) from refused
    if max(map(len, ids)) * 4 > limits.id_bytes:
        for position, value in enumerate(ids):
            limits.check("id_bytes", len(value.encode()), f"{field}[{position}]")
    return ids


def _are_plain_texts(ids: Sequence[Any], limits: Limits) -> bool:
    """The common case, seen without looking at each id: all text, none empty, all ASCII, and
    within the limits."""
    try:
        joined = "".join(ids)
    except TypeError:
        return False
    if not (joined.isascii() and all(ids) and 0 < len(ids) <= limits.targets):
        return False
    longest = limits.id_bytes
    return len(joined) <= longest or max(map(len, ids)) <= longest
