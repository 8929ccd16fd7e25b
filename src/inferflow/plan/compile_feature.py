"""Compiles a feature step: its keys, its query, and the blocks its columns lie in."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from inferflow.dtypes import STRING, DType
from inferflow.dtypes.casting import cast
from inferflow.plan.assumed_features import assumed_entity
from inferflow.plan.catalog import EntityInfo, FeatureInfo, GroupInfo, UnknownEntity
from inferflow.plan.defaults import default_row
from inferflow.plan.plan import CacheRule, Column, FeatureStep, Fill, KeySource, Step
from inferflow.plan.problems import closest_hint
from inferflow.plan.query import FeatureRead, GroupRead, RunRead
from inferflow.plan.spec import FeatureSpec, FeatureStepSpec, GroupSpec
from inferflow.plan.step_compiler import StepCompiler


class FeatureCompiler(StepCompiler[FeatureStepSpec]):
    def _begin(self) -> None:
        self._groups: list[GroupRead] = []
        self._blocks: list[tuple[int, ...]] = []
        self._fills: list[Fill] = []
        self._defaults: list[tuple[Any, ...]] = []
        self._features: list[Column] = []
        self._kept: list[tuple[int, Column]] = []
        self._id: Column | None = None

    # --- what it writes ----------------------------------------------------------------------

    def declare(self) -> None:
        step = self._step
        if step.groups:
            entity = self._entity()
            if entity is not None:
                self.facts.append(repr(entity))
                self._check_keys(entity)
                for i, group in enumerate(step.groups):
                    self._declare_group(i, group, entity)
        for position, key in enumerate(step.keys):
            if key.name in step.kept_keys:
                self._kept.append((position, self._text_column(f"{step.name}:{key.name}")))
        if step.id_column is not None:
            self._id = self._text_column(step.id_column)

    def _entity(self) -> EntityInfo | None:
        label = self._step.entity
        entity = self._catalog.entity(label)
        if entity is None:
            self._problems.error(
                f"{self._step.name}.fs_request.entity_label",
                f"the feature store has no entity {label!r}",
                closest_hint(label, self._catalog.entity_labels()),
            )
        if isinstance(entity, UnknownEntity):
            self._problems.note(
                f"{self._step.name}.fs_request.entity_label",
                f"{label!r} is not known here, so {entity.where} is taken to have its features in"
                " the types the config names",
            )
            return assumed_entity(self._step, self._problems)
        return entity

    def _check_keys(self, entity: EntityInfo) -> None:
        names = [key.name for key in self._step.keys]
        if set(names) != set(entity.keys):
            self._problems.error(
                f"{self._step.name}.fs_keys.schema",
                f"entity {entity.label!r} has keys {list(entity.keys)}, not {names}",
            )

    def _declare_group(self, number: int, group: GroupSpec, entity: EntityInfo) -> None:
        where = f"{self._step.name}.fs_request.feature_groups[{number}]"
        info = entity.groups.get(group.label)
        if info is None:
            self._problems.error(
                where,
                f"entity {entity.label!r} has no feature group {group.label!r}",
                closest_hint(group.label, entity.groups),
            )
            return
        runs: dict[DType, list[tuple[FeatureSpec, FeatureInfo, DType]]] = {}
        for feature in group.features:
            found = self._known(feature, info, where)
            if found is not None:
                dtype = self._dtype(feature, found, where)
                runs.setdefault(dtype.element, []).append((feature, found, dtype))
        if not runs:
            return
        self._groups.append(
            GroupRead(
                group.label,
                tuple(
                    RunRead(
                        element,
                        tuple(feature.label for feature, _, _ in members),
                        tuple(known.dim for _, known, _ in members),
                    )
                    for element, members in runs.items()
                ),
            )
        )
        self._defaults.append(
            tuple(
                np.concatenate([self._default_row(*member, where) for member in members])
                for members in runs.values()
            )
        )
        self._blocks.append(
            tuple(
                self._declare_run(group.label, r, element, members)
                for r, (element, members) in enumerate(runs.items())
            )
        )

    def _known(self, feature: FeatureSpec, info: GroupInfo, where: str) -> FeatureInfo | None:
        found = info.features.get(feature.label)
        if found is None:
            self._problems.error(
                f"{where}.feature_labels",
                f"group {info.label!r} has no feature {feature.label!r}",
                closest_hint(feature.label, info.features),
            )
        return found

    def _dtype(self, feature: FeatureSpec, info: FeatureInfo, where: str) -> DType:
        wanted = feature.dtype
        if wanted is None:
            return info.dtype
        element = wanted.element
        if element.is_text != info.dtype.is_text:
            self._problems.error(
                where,
                f"feature {feature.label!r} is {info.dtype.name} in the store "
                f"and cannot be read as {wanted.name}",
            )
            return info.dtype
        return element.vector if info.dtype.is_vector else element

    def _declare_run(
        self,
        group: str,
        run: int,
        element: DType,
        members: list[tuple[FeatureSpec, FeatureInfo, DType]],
    ) -> int:
        step = self._step
        width = sum(info.dim for _, info, _ in members)
        block = self._book.new_block(element, width, step.name)
        offset = 0
        for feature, info, dtype in members:
            column = Column(
                f"{step.prefix}:{group}:{feature.label}",
                dtype,
                info.dim,
                block,
                offset,
                "target",
                step.name,
                has_default=feature.default is not None or info.default is not None,
            )
            alias = f"{step.name}:{group}:{feature.label}"
            aliases = [alias] if alias != column.name else []
            self._book.declare(column, where=f"{step.name}.fs_request", aliases=aliases)
            self._features.append(column)
            if feature.default is not None:
                row = self._defaults[-1][run][offset : offset + info.dim]
                group_number = len(self._defaults) - 1
                self._fills.append(Fill((group_number, run), offset, offset + info.dim, row))
            offset += info.dim
        return block

    def _default_row(
        self, feature: FeatureSpec, info: FeatureInfo, dtype: DType, where: str
    ) -> np.ndarray[Any, Any]:
        """The config's default, else the schema's, else zero or empty text."""
        element = dtype.element
        if feature.default is not None:
            try:
                return default_row(feature.default, element, info.dim)
            except ValueError as wrong:
                self._problems.error(f"{where}.defaults[{feature.label!r}]", str(wrong))
        elif info.default is not None:
            stored = default_row(info.default, info.dtype.element, info.dim)
            return cast(stored, info.dtype.element, element)
        return default_row("" if element.is_text else 0, element, info.dim)

    def _text_column(self, name: str) -> Column:
        block = self._book.new_block(STRING, 1, self._step.name)
        column = Column(name, STRING, 1, block, 0, "target", self._step.name)
        self._book.declare(column, where=self._step.name)
        return column

    # --- what it reads -----------------------------------------------------------------------

    def want(self) -> None:
        for key in self._step.keys:
            self._book.want(key.use, reader=self._step.name, is_key=True)

    def compile(self, place: dict[str, Any]) -> Step:
        step = self._step
        keys = []
        for key in step.keys:
            column, _ = self._book.resolve(key.use, reader=step.name)
            if column is not None:
                if column.is_vector:
                    self._problems.error(key.use.where, f"{column.name!r} is a vector, not a key")
                keys.append(KeySource(key.name, column))
        read = (
            FeatureRead(step.entity, tuple(key.name for key in step.keys), tuple(self._groups))
            if self._groups
            else None
        )
        return FeatureStep(
            **place,
            on_error=step.on_error,
            timeout_ms=step.timeout_ms,
            writes=tuple(self._features),
            reads=tuple(key.column for key in keys),
            entity=step.entity,
            read=read,
            keys=tuple(keys),
            blocks=tuple(self._blocks),
            defaults=tuple(self._defaults),
            fills=tuple(self._fills),
            kept_keys=tuple(self._kept),
            id_column=self._id,
            cache=self._cache(read),
            batch_size=step.batch_size,
        )

    def _cache(self, read: FeatureRead | None) -> CacheRule | None:
        step = self._step
        if not step.cached or read is None:
            return None
        # The query and the schema are part of the scope: a changed feature list or type can
        # never meet entries laid out for the old one.
        shape = hashlib.blake2b(repr((read, self.facts)).encode(), digest_size=8).hexdigest()
        scope = "|".join((self._spec.id, str(self._spec.cache_version), step.name, shape))
        return CacheRule(scope, step.cache_ttl_s)

    def prune(self, step: Step, read_blocks: frozenset[int]) -> Step:
        """Drop key columns nobody reads."""
        assert isinstance(step, FeatureStep)
        kept = tuple(item for item in step.kept_keys if item[1].block in read_blocks)
        joined = step.id_column
        if joined is not None and joined.block not in read_blocks:
            joined = None
        extra = tuple(column for _, column in kept) + ((joined,) if joined else ())
        return replace(step, kept_keys=kept, id_column=joined, writes=step.writes + extra)

    def logged(self) -> list[Column]:
        """In the order written, which is not the order in which they lie in blocks."""
        by_name = {column.name: column for column in self._features}
        names = [
            f"{self._step.prefix}:{group.label}:{feature.label}"
            for group in self._step.groups
            for feature in group.features
        ]
        return [by_name[name] for name in names if name in by_name]
