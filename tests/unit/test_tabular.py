"""Plain-text tables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inferflow.tabular import cell_text, counted, duration_text, table


def test_numbers_stand_to_the_right_with_their_points_in_line() -> None:
    assert table(["id", "score"], [["a", 1.5], ["bc", 10.25]]) == [
        "id  score",
        "a    1.50",
        "bc  10.25",
    ]


def test_a_column_with_a_tiny_number_does_not_round_it_away() -> None:
    assert table(["x"], [[0.00001234], [1.0]])[1:] == ["1.234e-05", "        1"]


def test_whole_numbers_keep_their_digits() -> None:
    assert table(["x"], [[1234567], [7]])[1:] == ["1234567", "      7"]


def test_a_column_without_any_value_is_left_out() -> None:
    assert table(["id", "error"], [["a", ""], ["b", None]]) == ["id", "a", "b"]


def test_a_row_that_is_one_text_is_a_heading() -> None:
    assert table(["a", "b"], ["first", ["x", "y"]], indent=2) == ["  a  b", "first", "  x  y"]


def test_a_wide_letter_takes_two_columns_and_an_accent_none() -> None:
    lines = table(["a", "b"], [["日本", "x"], ["e\u0301", "x"]])
    assert lines == ["a     b", "日本  x", "e\u0301     x"]


def test_control_characters_reach_no_terminal() -> None:
    assert "\x1b" not in cell_text("\x1b[31mred")


def test_a_long_vector_is_shortened_and_counted() -> None:
    assert cell_text([1.0, 2.0, 3.0]) == "[1, 2, 3]"
    assert cell_text([1.0, 2.0, 3.0, 4.0]) == "[1, 2, 3, … 4 in all]"


def test_durations_come_in_the_unit_people_would_choose() -> None:
    told = [duration_text(s) for s in (0.0125, 1, 59.94, 90, 7200, 86_400 * 30)]
    assert told == ["12.5 ms", "1 s", "59.9 s", "1.5 min", "2 h", "30 d"]


def test_counts_know_their_plural() -> None:
    told = [counted(1, "row"), counted(0, "row"), counted(1200, "batch")]
    assert told == ["1 row", "0 rows", "1,200 batches"]


@given(st.lists(st.tuples(st.floats(allow_nan=True), st.text(max_size=8)), min_size=1))
def test_a_table_has_a_line_per_row_and_a_header(rows: list[tuple[float, str]]) -> None:
    assert len(table(["number", "text"], rows)) == len(rows) + 1
    assert all("\n" not in line for line in table(["number", "text"], rows))
