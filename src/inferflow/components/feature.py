"""Fetches one entity's features: distinct keys once, whole groups at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.components.cache import FeatureCache, ScopedCache
from inferflow.components.init import requested_values, text_block
from inferflow.components.keys import KeyBatch, key_batch
from inferflow.engine.binding import Origin
from inferflow.engine.ports import (
    Array,
    FeatureReader,
    FeatureRows,
    GroupRows,
    PreparedRead,
    ReadState,
)
from inferflow.engine.recording import ReadRecord, StepRecord
from inferflow.engine.run import Run
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Column, FeatureStep, RequestColumn


class FeatureComponent:
    def __init__(
        self, step: FeatureStep, reader: FeatureReader, cache: FeatureCache | None
    ) -> None:
        self.step = step
        self.is_local = reader.is_local
        self._prepared: PreparedRead | None = reader.prepare(step.read) if step.read else None
        self._cache: ScopedCache | None = None
        if cache is not None and step.cache is not None and step.read is not None:
            self._cache = cache.scoped(step.cache, step.read)

    async def run(self, run: Run) -> None:
        step = self.step
        keys = key_batch(step.keys, run.matrix)
        if step.kept_keys or step.id_column is not None:
            self._keep_keys(keys, run)
        record = run.record(step)
        if record is not None:
            record.rows, record.unique_keys = run.matrix.rows, keys.count
            record.read = ReadRecord(keys.columns, keys.inverse, keys.unusable)
        if self._prepared is None:
            return
        if keys.count == 0:
            if step.on_error == "default":
                self.fill_defaults(run)
            else:
                self.leave_blank(run)
            return
        rows = await self._fetch(keys, run, record)
        if record is not None and record.read is not None:
            record.read.written_ms = tuple(group.written_ms for group in rows.groups)
        self._put(rows, keys, run)

    async def _fetch(self, keys: KeyBatch, run: Run, record: StepRecord | None) -> FeatureRows:
        assert self._prepared is not None
        deadline = run.deadline.within(self.step.timeout_ms)
        if self._cache is not None:
            return await self._cache.fetch(self._prepared, keys.columns, deadline, record)
        size = self.step.batch_size
        if not size or keys.count <= size:
            return await self._prepared.fetch(keys.columns, deadline=deadline)
        parts = []
        for start in range(0, keys.count, size):
            batch = tuple(column[start : start + size] for column in keys.columns)
            parts.append(await self._prepared.fetch(batch, deadline=deadline))
        return joined(parts)

    def _put(self, rows: FeatureRows, keys: KeyBatch, run: Run) -> None:
        step, matrix, inverse = self.step, run.matrix, keys.inverse
        pins = run.binding.pins.get(step.name)
        for g, group in enumerate(rows.groups):
            states = None if group.states is None else spread(group.states, inverse)
            if group.absent or keys.unusable is not None or pins is not None or step.fills:
                self._put_marked(g, group, states, keys, run, pins or ())
                continue
            for block, values in zip(step.blocks[g], group.runs, strict=True):
                matrix.put(block, spread(values, inverse), states=states)

    def _put_marked(
        self,
        g: int,
        group: GroupRows,
        states: Array | None,
        keys: KeyBatch,
        run: Run,
        pins: Sequence[tuple[Column, Origin]],
    ) -> None:
        """A group with rows that are not simply what the store holds."""
        step, inverse = self.step, keys.inverse
        for r, block in enumerate(step.blocks[g]):
            values = spread(self._with_config_defaults(group, g, r), inverse)
            run_states = states
            if keys.unusable is not None:
                values, run_states = self._without_keys(values, states, keys, g, r)
            pinned = [pin for pin in pins if pin[0].block == block]
            if pinned:
                values = self._with_pins(values, pinned, run)
            blank = keys.unusable if step.on_error != "default" else None
            run.matrix.put(block, values, invalid=blank, states=run_states)
        for column in step.writes:
            absent = group.absent.get(column.name.rpartition(":")[2])
            if absent is not None and column.block in step.blocks[g]:
                run.matrix.mark_absent(column, spread(absent, inverse))

    def _with_config_defaults(self, group: GroupRows, g: int, r: int) -> Array:
        """The store's rows, with the config's own defaults where they have nothing real."""
        values = group.runs[r]
        fills = [fill for fill in self.step.fills if fill.run == (g, r)]
        if not fills or (group.states is None and not group.absent):
            return values
        values = values.copy()
        read = self.step.read
        assert read is not None
        labels = read.groups[g].runs[r]
        starts = dict(
            zip(np.cumsum((0, *labels.widths[:-1])).tolist(), labels.features, strict=True)
        )
        for fill in fills:
            if group.states is not None:
                values[group.states != ReadState.REAL, fill.start : fill.stop] = fill.value
            absent = group.absent.get(starts[fill.start])
            if absent is not None:
                values[absent, fill.start : fill.stop] = fill.value
        return values

    def _without_keys(
        self, values: Array, states: Array | None, keys: KeyBatch, g: int, r: int
    ) -> tuple[Array, Array]:
        assert keys.unusable is not None
        values = values.copy()
        values[keys.unusable] = self.step.defaults[g][r]
        states = np.zeros(len(values), np.uint8) if states is None else states.copy()
        states[keys.unusable] = ReadState.MISSING
        return values, states

    def _with_pins(self, values: Array, pins: list[tuple[Column, Origin]], run: Run) -> Array:
        values = np.repeat(values, run.matrix.rows, axis=0) if len(values) == 1 else values.copy()
        for column, origin in pins:
            wanted = RequestColumn(
                column.name, "value", column.dtype, column.width, None, None, None, (), False
            )
            given = requested_values(wanted, origin, run)
            if len(given) not in (1, len(values)):
                raise InvalidRequest(
                    str(origin), f"{len(given)} value(s) for {len(values)} target(s)"
                )
            values[:, column.offset : column.offset + (column.width or 1)] = given
        return values

    def _keep_keys(self, keys: KeyBatch, run: Run) -> None:
        step = self.step
        for position, column in step.kept_keys:
            texts = keys.columns[position]
            block = text_block(list(texts) or [""])
            run.matrix.put(column.block, spread(block, keys.inverse), invalid=keys.unusable)
        if step.id_column is not None:
            texts = [join_key(parts) for parts in zip(*keys.columns, strict=True)] or [""]
            block = spread(text_block(texts), keys.inverse)
            run.matrix.put(step.id_column.block, block, invalid=keys.unusable)

    def fill_defaults(self, run: Run) -> None:
        states = np.full(1, ReadState.FAILED, np.uint8)
        self._stand_in(run, states, None)

    def leave_blank(self, run: Run) -> None:
        self._stand_in(run, None, np.ones(run.matrix.rows, dtype=bool))

    def _stand_in(self, run: Run, states: Array | None, invalid: Array | None) -> None:
        step = self.step
        for g, blocks in enumerate(step.blocks):
            for r, block in enumerate(blocks):
                if not run.matrix.is_filled(block):
                    row = np.asarray(step.defaults[g][r]).reshape(1, -1)
                    run.matrix.put(block, row, invalid=invalid, states=states)
        kept = [column for _, column in step.kept_keys]
        for column in [*kept, *([step.id_column] if step.id_column else [])]:
            if not run.matrix.is_filled(column.block):
                blank = np.ones(run.matrix.rows, dtype=bool)
                run.matrix.put(column.block, text_block([""]), invalid=blank)


def spread(values: Array, inverse: Array | None) -> Array:
    """Rows of keys as rows of targets."""
    return values if inverse is None else values.take(inverse, axis=0)


def joined(parts: list[FeatureRows]) -> FeatureRows:
    """Batches put back together in key order."""
    groups = []
    for same in zip(*(part.groups for part in parts), strict=True):
        counts = [len(group.runs[0]) for group in same]
        groups.append(
            GroupRows(
                runs=tuple(
                    np.concatenate(runs) for runs in zip(*(g.runs for g in same), strict=True)
                ),
                states=_concatenated([group.states for group in same], counts, np.uint8),
                absent={
                    label: _filled([g.absent.get(label) for g in same], counts, np.bool_)
                    for label in {label for group in same for label in group.absent}
                },
                written_ms=_concatenated([group.written_ms for group in same], counts, np.int64),
            )
        )
    return FeatureRows(tuple(groups))


def _concatenated(parts: list[Array | None], counts: list[int], kind: type) -> Array | None:
    return None if all(part is None for part in parts) else _filled(parts, counts, kind)


def _filled(parts: list[Array | None], counts: list[int], kind: type) -> Array:
    return np.concatenate(
        [np.zeros(n, kind) if part is None else part for part, n in zip(parts, counts, strict=True)]
    )


def join_key(parts: tuple[str, ...]) -> str:
    """The text of a composite key. The bar is escaped, so different keys never look alike."""
    if len(parts) == 1:
        return parts[0]
    return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
