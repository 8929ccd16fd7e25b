"""Where values come from, as far as a service tells: ours does when it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.client.features.expected import ExpectedGroup
from inferflow.client.features.layout import Layout
from inferflow.dtypes import Array
from inferflow.engine.ports import GroupRows, ReadState
from inferflow.errors import StoreFailed

_Presence = message_class("retrieve.Presence")

_DEFAULT, _MISSING, _FAILED = (
    int(state) for state in (ReadState.DEFAULT, ReadState.MISSING, ReadState.FAILED)
)


class Presence:
    def __init__(
        self,
        told: bytes,
        layout: Layout,
        rows: int,
        places: Array | None,
        failed: Callable[[str], StoreFailed],
    ) -> None:
        """`places` are the rows of keys that are not answered in their order, -1 for none."""
        message: Any = _Presence.FromString(told)
        if len(message.states) != rows * len(layout.columns):
            raise failed(f"{len(message.states)} states for {rows * len(layout.columns)} values")
        if len(message.written_ms) != rows * len(layout.groups):
            raise failed(f"{len(message.written_ms)} times for {rows * len(layout.groups)} rows")
        states = np.frombuffer(message.states, np.uint8).reshape(rows, -1)
        written = np.array(message.written_ms, np.int64).reshape(rows, -1)
        if places is not None:
            is_lost = (places < 0)[:, np.newaxis]
            states = np.where(is_lost, _FAILED, states[places]).astype(np.uint8)
            written = np.where(is_lost, 0, written[places])
        self._layout = layout
        self._states = states
        self._written = written

    def mark(self, group: GroupRows, expected: ExpectedGroup) -> GroupRows:
        """The same rows with what is told about them."""
        layout = self._layout
        labels = dict.fromkeys(member.label for run in expected.runs for member in run.members)
        at = [layout.columns[expected.label, label] for label in labels]
        states = self._states[:, at]
        # From MISSING on it is the row that is not there, and not a single value.
        rows = np.where(states >= _MISSING, states, 0).max(axis=1, initial=0)
        if group.states is not None:
            rows = np.maximum(rows, group.states)
        absent = {
            label: states[:, number] == _DEFAULT
            for number, label in enumerate(labels)
            if (states[:, number] == _DEFAULT).any()
        }
        written = self._written[:, layout.groups[expected.label]]
        return GroupRows(group.runs, rows if rows.any() else None, absent, written)


def marked(
    presence: Presence | None, groups: Sequence[GroupRows], expected: Sequence[ExpectedGroup]
) -> tuple[GroupRows, ...]:
    if presence is None:
        return tuple(groups)
    return tuple(presence.mark(*pair) for pair in zip(groups, expected, strict=True))
