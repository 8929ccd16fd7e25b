"""Fetches one entity's features: distinct keys once, whole groups at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.components.cache import FeatureCache, ScopedCache
from inferflow.components.init import requested_values
from inferflow.components.keys import KeyBatch, key_batch
from inferflow.components.read import BatchedRead, failed_keys
from inferflow.engine.binding import Origin
from inferflow.engine.matrix import merged, text_block
from inferflow.engine.ports import (
    Array,
    FeatureReader,
    FeatureRows,
    GroupRows,
    ReadState,
)
from inferflow.engine.recording import ReadRecord
from inferflow.engine.run import Run
from inferflow.errors import InvalidRequest, StoreFailed
from inferflow.plan.plan import Column, FeatureStep, RequestColumn


class FeatureComponent:
    def __init__(
        self, step: FeatureStep, reader: FeatureReader, cache: FeatureCache | None
    ) -> None:
        self.step = step
        self.is_local = reader.is_local
        self._keeps_keys = bool(step.kept_keys) or step.id_column is not None
        self._source: BatchedRead | ScopedCache | None = None
        if step.read is not None:
            store = BatchedRead(reader.prepare(step.read), step, together=not reader.is_local)
            self._source = store
            if cache is not None and step.cache is not None:
                self._source = cache.scoped(step.cache, step.read, store)

    async def run(self, run: Run) -> None:
        step = self.step
        keys = key_batch(step.keys, run.matrix)
        if self._keeps_keys:
            self._keep_keys(keys, run)
        record = run.record(step)
        if record is not None:
            record.rows, record.unique_keys = run.matrix.rows, keys.count
            if run.recording is not None:
                record.read = ReadRecord(keys.columns, keys.inverse, keys.unusable)
        if self._source is None:
            return
        if keys.unusable is not None and step.on_error != "default":
            run.mark(step, keys.unusable, "there is no key to look up")
        if keys.count == 0:
            self._stand_in(run, ReadState.MISSING, blank=step.on_error != "default")
            return
        deadline = run.deadline
        if step.timeout_ms is not None:
            deadline = deadline.within(step.timeout_ms)
        rows = await self._source.fetch(keys.columns, deadline=deadline, record=record)
        if record is not None and record.read is not None:
            record.read.written_ms = tuple(group.written_ms for group in rows.groups)
        failed = failed_keys(rows)
        lost = None if failed is None else self._lost(failed, rows.failure, keys, run)
        self._put(rows, keys, lost, run)

    def _lost(self, failed: Array, why: str, keys: KeyBatch, run: Run) -> Array:
        """Rows whose key could not be asked for, marked."""
        why = why or "the store could not be asked"
        if failed.all() or self.step.on_error == "fail":
            raise StoreFailed(why)
        lost = spread(failed, keys.inverse)
        if keys.unusable is not None:
            lost = lost & ~keys.unusable
        run.mark(self.step, lost, why)
        return lost

    def _put(self, rows: FeatureRows, keys: KeyBatch, lost: Array | None, run: Run) -> None:
        step, matrix, inverse = self.step, run.matrix, keys.inverse
        blank = None
        if step.on_error != "default" and (keys.unusable is not None or lost is not None):
            blank = merged([keys.unusable, lost], matrix.rows)
        pins = run.binding.pins.get(step.name) if run.binding.pins else None
        is_marked = keys.unusable is not None or pins is not None or bool(step.fills)
        for g, group in enumerate(rows.groups):
            states = group.states
            if states is not None:
                states = spread(states, inverse)
            if is_marked or group.absent:
                self._put_marked(g, group, states, blank, keys, run, pins or ())
                continue
            for block, values in zip(step.blocks[g], group.runs, strict=True):
                matrix.put(block, spread(values, inverse), invalid=blank, states=states)

    def _put_marked(
        self,
        g: int,
        group: GroupRows,
        states: Array | None,
        blank: Array | None,
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
            values = self._with_pins(values, block, pins, run)
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

    def _with_pins(
        self, values: Array, block: int, pins: Sequence[tuple[Column, Origin]], run: Run
    ) -> Array:
        """The values of a block, with what the request brings for features in it."""
        pins = [pin for pin in pins if pin[0].block == block]
        if not pins:
            return values
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
            run.matrix.pin(column)
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
        self._stand_in(run, ReadState.FAILED, blank=False)

    def leave_blank(self, run: Run) -> None:
        self._stand_in(run, ReadState.FAILED, blank=True)

    def _stand_in(self, run: Run, state: ReadState, *, blank: bool) -> None:
        """Fill what is not yet filled with defaults. What the request brings still wins."""
        step = self.step
        pins = run.binding.pins.get(step.name, ())
        states = np.full(1, state, np.uint8)
        invalid = np.ones(run.matrix.rows, dtype=bool) if blank else None
        for g, blocks in enumerate(step.blocks):
            for r, block in enumerate(blocks):
                if not run.matrix.is_filled(block):
                    row = np.asarray(step.defaults[g][r]).reshape(1, -1)
                    values = self._with_pins(row, block, pins, run)
                    run.matrix.put(block, values, invalid=invalid, states=states)
        kept = [column for _, column in step.kept_keys]
        for column in [*kept, *([step.id_column] if step.id_column else [])]:
            if not run.matrix.is_filled(column.block):
                nowhere = np.ones(run.matrix.rows, dtype=bool)
                run.matrix.put(column.block, text_block([""]), invalid=nowhere)


def spread(values: Array, inverse: Array | None) -> Array:
    """Rows of keys as rows of targets."""
    return values if inverse is None else values.take(inverse, axis=0)


def join_key(parts: tuple[str, ...]) -> str:
    """The text of a composite key. The bar is escaped, so different keys never look alike."""
    if len(parts) == 1:
        return parts[0]
    return "|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)
