"""The feature schema people write, checked as a whole.

    entities:
      product:
        keys: [product_id]
        groups:
          attributes:
            dtype: FP32            # for features that do not say their own
            ttl: 30d               # optional: 500ms, 90s, 15m, 12h, 30d, 2w, or plain seconds
            features:              # or a list of names, or `name: FP32`
              price: {default: 0.0}
              embedding: {dtype: FP32Vector, dim: 16}

Every problem is found before any is reported, each with its place and the nearest known name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from inferflow.dtypes import DType, parse_dtype
from inferflow.errors import InferflowError, NotFound, SchemaInvalid
from inferflow.featurestore.values import feature_elements
from inferflow.plan.catalog import EntityInfo, FeatureInfo, GroupInfo
from inferflow.plan.problems import nearest

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")
_LONGEST_TTL_S = 1e11
"""About 3,000 years; beyond it the expiry in milliseconds would not fit."""


@dataclass(frozen=True, slots=True)
class FeatureSchema:
    """Entities, their groups and features. Never changes; a new schema is a new value."""

    entities: Mapping[str, EntityInfo]
    digest: str
    """Changes when anything in the schema does."""

    def entity(self, label: str) -> EntityInfo:
        found = self.entities.get(label)
        if found is None:
            raise NotFound("entity", label, nearest=nearest(label, self.entities))
        return found

    def group(self, entity: str, label: str) -> GroupInfo:
        groups = self.entity(entity).groups
        found = groups.get(label)
        if found is None:
            raise NotFound(f"group of {entity!r}", label, nearest=nearest(label, groups))
        return found


def parse_schema(content: object, *, where: str = "features/schema.yaml") -> FeatureSchema:
    """The schema in a loaded document. Raises SchemaInvalid with everything that is wrong."""
    reader = _Reader()
    top = reader.mapping(content, "the schema", ("entities",))
    entities = {
        label: reader.entity(label, entity, f"entities.{label}")
        for label, entity in reader.named(top.get("entities", {}), "entities")
    }
    if reader.problems:
        raise SchemaInvalid(where, reader.problems)
    return FeatureSchema(MappingProxyType(entities), _digest(entities))


class _Reader:
    """Reads the parts of a document and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def problem(self, place: str, what: str, hint: str = "") -> None:
        self.problems.append(f"{place}: {what}" + (f" ({hint})" if hint else ""))

    # --- shapes -----------------------------------------------------------------------------

    def mapping(self, content: object, place: str, known: tuple[str, ...]) -> dict[str, Any]:
        """The known keys of a mapping; the others are problems."""
        if not isinstance(content, Mapping):
            self.problem(place, f"expected a mapping with {', '.join(known)}")
            return {}
        for key in content:
            if key not in known:
                close = nearest(str(key), known)
                hint = f"nearest: {close!r}" if close else f"known: {', '.join(known)}"
                self.problem(place, f"unknown key {key!r}", hint)
        return {key: content[key] for key in known if key in content}

    def named(self, content: object, place: str) -> list[tuple[str, Any]]:
        """The entries of a mapping from names, which must not be empty."""
        if not isinstance(content, Mapping) or not content:
            self.problem(place, "expected a mapping with at least one name")
            return []
        return [(name, entry) for name, entry in content.items() if self.is_name(name, place)]

    def is_name(self, name: object, place: str) -> bool:
        if not isinstance(name, str):
            self.problem(place, f"name {name!r} is not text", f"write '{name}' in quotes")
        elif not name.strip() or name != name.strip() or re.search(r"[:@\x00-\x1f]", name):
            self.problem(place, f"name {name!r} is empty, has blanks around it or holds : or @")
        else:
            return True
        return False

    # --- the schema -------------------------------------------------------------------------

    def entity(self, label: str, content: object, place: str) -> EntityInfo:
        found = self.mapping(content, place, ("keys", "groups"))
        keys = self.keys(found.get("keys"), f"{place}.keys")
        groups = {
            name: self.group(name, group, keys, f"{place}.groups.{name}")
            for name, group in self.named(found.get("groups"), f"{place}.groups")
        }
        return EntityInfo(label, keys, MappingProxyType(groups))

    def keys(self, content: object, place: str) -> tuple[str, ...]:
        if not isinstance(content, list | tuple) or not content:
            self.problem(place, "expected a list of at least one key name")
            return ()
        keys = tuple(key for key in content if self.is_name(key, place))
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            self.problem(place, f"key {key!r} is listed twice")
        return keys

    def group(self, label: str, content: object, keys: tuple[str, ...], place: str) -> GroupInfo:
        found = self.mapping(content, place, ("dtype", "ttl", "features"))
        dtype = self.dtype(found["dtype"], f"{place}.dtype") if "dtype" in found else None
        features: dict[str, FeatureInfo] = {}
        for name, entry in self.features(found.get("features"), f"{place}.features"):
            where = f"{place}.features.{name}"
            if name in keys:
                self.problem(where, "a feature cannot have the name of a key")
            if name in features:
                self.problem(where, "the feature is listed twice")
            feature = self.feature(name, entry, dtype, "dtype" in found, where)
            if feature is not None:
                features[name] = feature
        ttl_s = self.ttl(found.get("ttl"), f"{place}.ttl")
        return GroupInfo(label, MappingProxyType(features), ttl_s)

    def features(self, content: object, place: str) -> list[tuple[str, Any]]:
        if not isinstance(content, list):
            return self.named(content, place)
        if not content:
            self.problem(place, "expected at least one feature")
        return [(name, None) for name in content if self.is_name(name, place)]

    def feature(
        self, name: str, entry: object, group: DType | None, group_has_dtype: bool, place: str
    ) -> FeatureInfo | None:
        if entry is None or isinstance(entry, str):
            entry = {} if entry is None else {"dtype": entry}
        found = self.mapping(entry, place, ("dtype", "default", "dim"))
        dtype = self.dtype(found["dtype"], f"{place}.dtype") if "dtype" in found else group
        if dtype is None:
            if "dtype" not in found and not group_has_dtype:
                self.problem(place, "neither the feature nor its group says a dtype")
            return None
        dim = self.dim(found.get("dim"), dtype, place)
        default = found.get("default")
        if dim is None or default is None:
            return None if dim is None else FeatureInfo(name, dtype, dim)
        return FeatureInfo(name, dtype, dim, self.default(default, dtype, dim, f"{place}.default"))

    def dtype(self, content: object, place: str) -> DType | None:
        try:
            return parse_dtype(content)  # type: ignore[arg-type]  # anything else is refused by it
        except InferflowError as unknown:
            self.problem(place, str(unknown))
            return None

    def dim(self, content: object, dtype: DType, place: str) -> int | None:
        if not dtype.is_vector:
            if content in (None, 1):
                return 1
            self.problem(place, f"{dtype.name} has no dim", f"did you mean {dtype.vector.name}?")
        elif isinstance(content, int) and not isinstance(content, bool) and content > 0:
            return content
        else:
            self.problem(place, f"{dtype.name} needs a dim of 1 or more, not {content!r}")
        return None

    def default(self, content: object, dtype: DType, dim: int, place: str) -> Any:
        """In the feature's own type; one value stands for every element of a vector."""
        is_one = dtype.is_vector and not isinstance(content, list | tuple)
        try:
            elements = feature_elements([[content] * dim if is_one else content], dtype, dim)[0]
        except InferflowError as wrong:
            self.problem(place, getattr(wrong, "what", str(wrong)))
            return None
        return tuple(elements.tolist()) if dtype.is_vector else elements.tolist()[0]

    def ttl(self, content: object, place: str) -> float | None:
        """Seconds; None for a group whose rows stay, which `0` says too."""
        seconds: float | None = None
        if content is None:
            return None
        if isinstance(content, int | float) and not isinstance(content, bool):
            seconds = float(content)
        elif isinstance(content, str) and (found := _DURATION.fullmatch(content.strip())):
            seconds = float(found[1]) * _SECONDS[found[2]]
        if seconds is None or not 0 <= seconds <= _LONGEST_TTL_S:
            self.problem(place, f"{content!r} is not a time to live", "such as 90s, 12h or 30d")
            return None
        return seconds or None


def _digest(entities: Mapping[str, EntityInfo]) -> str:
    content = [
        [
            entity.label,
            entity.keys,
            [
                [
                    group.label,
                    group.ttl_s,
                    [
                        [f.name, f.dtype.name, f.dim, repr(f.default)]
                        for f in group.features.values()
                    ],
                ]
                for group in entity.groups.values()
            ],
        ]
        for entity in entities.values()
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
