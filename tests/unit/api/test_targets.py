"""Rows of targets as columns: reading all at once gives what reading one by one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow.api.targets import read_targets
from inferflow.errors import InvalidRequest


def listed(parts: Any) -> list[bytes]:
    return [bytes(part) for part in parts] if isinstance(parts, np.ndarray) else list(parts)


def written(targets: list[tuple[str, list[bytes]]]) -> list[bytes]:
    return [
        messages.Target(id=each, feature_values=values).SerializeToString()
        for each, values in targets
    ]


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, list[bytes]]]:
    """Targets with as many values each, of lengths that are mostly, but not always, the same."""
    widths = draw(st.lists(st.sampled_from([0, 1, 4, 8, 127, 128, 300]), max_size=4))
    same = draw(st.booleans())
    ids = draw(
        st.lists(st.text(max_size=6) | st.text("ab", min_size=120, max_size=140), min_size=1)
    )
    return [
        (
            each,
            [
                draw(
                    st.binary(min_size=width if same else 0, max_size=width if same else width + 2)
                )
                for width in widths
            ],
        )
        for each in ids
    ]


@given(tables())
def test_targets_come_out_as_they_went_in(targets: list[tuple[str, list[bytes]]]) -> None:
    columns = len(targets[0][1])
    ids, values = read_targets(written(targets), columns)
    assert ids == [each for each, _ in targets]
    assert [listed(parts) for parts in values] == [
        [given[at] for _, given in targets] for at in range(columns)
    ]


def test_values_of_equal_length_are_cut_out_as_one_table() -> None:
    _, (column,) = read_targets(written([("a", [b"1234"]), ("bb", [b"5678"])]), 1)
    assert isinstance(column, np.ndarray)
    assert column.shape == (2, 4)


def test_fields_in_any_order_and_unknown_ones_are_read() -> None:
    value_first = b"\x12\x01x" + b"\x0a\x01a"
    unknown = b"\x0a\x01b" + b"\x12\x01y" + b"\x1a\x03new"
    ids, (column,) = read_targets([value_first, unknown], 1)
    assert ids == ["a", "b"]
    assert listed(column) == [b"x", b"y"]


@pytest.mark.parametrize("row", [b"\x0a\x05abc", b"\x0a\x02\xff\xfe", b"\xff", b"\x12\x80"])
def test_a_row_that_is_no_target_is_refused_by_its_place(row: bytes) -> None:
    with pytest.raises(InvalidRequest, match=r"^targets\[1\]: is not a Target"):
        read_targets([b"\x0a\x01a", row], 0)


@pytest.mark.parametrize("values", [[], [b"1", b"2"]])
def test_more_or_fewer_values_than_columns_are_refused(values: list[bytes]) -> None:
    rows = written([("a", [b"1"]), ("b", values)])
    with pytest.raises(InvalidRequest, match=r"^targets\[1\].feature_values: \d value"):
        read_targets(rows, 1)


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=5), st.integers(0, 3))
def test_any_bytes_are_read_as_protobuf_reads_them_or_refused(rows: list[bytes], n: int) -> None:
    try:
        ids, values = read_targets(rows, n)
    except InvalidRequest:
        return
    expected = [messages.Target.FromString(row) for row in rows]
    assert ids == [target.id for target in expected]
    assert [listed(parts) for parts in values] == [
        [target.feature_values[at] for target in expected] for at in range(n)
    ]
