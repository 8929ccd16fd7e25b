"""Every layout the rows of a group were ever written with, kept in the store beside them.

Version n is the n-th layout the group was given; a layout that comes back gets its old number.
So rows of any age can be read, by any process, under any later schema.
"""

from __future__ import annotations

import json
from typing import Any

from inferflow.dtypes import parse_dtype
from inferflow.errors import InvalidInput, StoreFailed
from inferflow.featurestore.backend import Backend
from inferflow.featurestore.keys import META, KeySpace
from inferflow.featurestore.layout import Layout, StoredFeature, lay_out

_FORMAT_KEY, _FORMAT = META + b"format", b"1"
_GROUP_PREFIX = META + b"group:"


class History:
    """The layouts of one group of one entity."""

    def __init__(self, backend: Backend, entity: str, keys: tuple[str, ...], group: str) -> None:
        self._backend = backend
        self._entity, self._keys, self._group = entity, keys, group
        self._meta_key = _GROUP_PREFIX + KeySpace(entity, group).space
        self._layouts: list[Layout] = []
        self._reload()

    def version_of(self, features: tuple[StoredFeature, ...]) -> int:
        """The number of this layout; a new one is recorded first."""
        version = self._known(features)
        if version is None:
            self._backend.update([self._meta_key], lambda old: [self._with(old[0], features)])
            self._reload()
            version = self._known(features)
        if version is None:
            raise StoreFailed(f"{self._label}: the new layout was not kept")
        return version

    def layout(self, version: int) -> Layout:
        """The layout with this number, also when another process has just introduced it."""
        if not 0 < version <= len(self._layouts):
            self._reload()
        if not 0 < version <= len(self._layouts):
            raise StoreFailed(f"{self._label}: a row has the unknown layout version {version}")
        return self._layouts[version - 1]

    def known_layout(self, version: int) -> Layout:
        """The same for somebody who must not wait for the store. Raises NewLayout."""
        layouts = self._layouts
        if not 0 < version <= len(layouts):
            raise NewLayout(self, version)
        return layouts[version - 1]

    def __len__(self) -> int:
        return len(self._layouts)

    @property
    def _label(self) -> str:
        return f"{self._entity}:{self._group}"

    def _known(self, features: tuple[StoredFeature, ...]) -> int | None:
        for number, layout in enumerate(self._layouts, start=1):
            if layout.features == features:
                return number
        return None

    def _reload(self) -> None:
        self._layouts = [
            lay_out(features)
            for features in self._read(self._backend.get_many([self._meta_key])[0])
        ]

    def _read(self, record: bytes | None) -> list[tuple[StoredFeature, ...]]:
        if record is None:
            return []
        found = _parsed(record)
        if (found["entity"], found["group"]) != (self._entity, self._group):
            raise StoreFailed(
                f"{self._label} and {found['entity']}:{found['group']} share a prefix"
            )
        if tuple(found["keys"]) != self._keys:
            raise InvalidInput(
                f"entity {self._entity!r} is keyed by {list(self._keys)}, but its stored rows by"
                f" {found['keys']}; restore the keys, or import into an empty store"
            )
        return [
            tuple(StoredFeature(name, parse_dtype(dtype), dim) for name, dtype, dim in layout)
            for layout in found["layouts"]
        ]

    def _with(self, record: bytes | None, features: tuple[StoredFeature, ...]) -> bytes:
        layouts = self._read(record)
        if features not in layouts:
            layouts.append(features)
        return json.dumps(
            {
                "entity": self._entity,
                "group": self._group,
                "keys": self._keys,
                "layouts": [[(f.name, f.dtype.name, f.dim) for f in each] for each in layouts],
            }
        ).encode()


class NewLayout(Exception):
    """A row has a layout that was never met here."""

    def __init__(self, history: History, version: int) -> None:
        super().__init__(version)
        self._history = history
        self._version = version

    def learn(self) -> None:
        """Ask the store for it, which may take a while. Raises StoreFailed."""
        self._history.layout(self._version)


def check_format(backend: Backend) -> None:
    """Mark an empty store with our format; refuse one of another format."""
    found = backend.get_many([_FORMAT_KEY])[0]
    if found is None:
        backend.update([_FORMAT_KEY], lambda old: [old[0] or _FORMAT])
    elif found != _FORMAT:
        raise InvalidInput(
            f"the feature store has format {found.decode(errors='replace')}, this version of"
            f" Inferflow reads {_FORMAT.decode()}; use the version that wrote it"
        )


def groups_ever(backend: Backend, entity: str) -> list[tuple[str, tuple[str, ...]]]:
    """Label and key names of every group this entity ever had, those of older schemas included."""
    found = [_parsed(record) for _, record in backend.scan(_GROUP_PREFIX)]
    return [(each["group"], tuple(each["keys"])) for each in found if each["entity"] == entity]


def _parsed(record: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(record)
        return found
    except ValueError as broken:
        raise StoreFailed(f"the record of a feature group is damaged: {broken}") from broken
