"""Rows of features put together and taken apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.engine.ports import Array, FeatureRows, GroupRows


def only(rows: FeatureRows, keys: Array) -> FeatureRows:
    """The rows of some of the keys."""
    return FeatureRows(
        tuple(
            GroupRows(
                tuple(run[keys] for run in group.runs),
                None if group.states is None else group.states[keys],
                {label: mask[keys] for label, mask in group.absent.items()},
                None if group.written_ms is None else group.written_ms[keys],
            )
            for group in rows.groups
        ),
        rows.failure,
    )


def joined(parts: Sequence[FeatureRows]) -> FeatureRows:
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
    failures = dict.fromkeys(part.failure for part in parts if part.failure)
    return FeatureRows(tuple(groups), "; ".join(failures))


def _concatenated(parts: list[Array | None], counts: list[int], kind: type) -> Array | None:
    return None if all(part is None for part in parts) else _filled(parts, counts, kind)


def _filled(parts: list[Array | None], counts: list[int], kind: type) -> Array:
    return np.concatenate(
        [np.zeros(n, kind) if part is None else part for part, n in zip(parts, counts, strict=True)]
    )
