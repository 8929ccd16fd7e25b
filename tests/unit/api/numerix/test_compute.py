"""Compute calls: forms, zeros, ids, precisions, and how each mistake is told."""

from __future__ import annotations

import grpc
import numpy as np
import pytest

from ..calling import Aborted
from .numerix_calls import (
    Numerix,
    Request,
    byte_request,
    error,
    f32,
    f64,
    text_request,
    texts,
    values,
)


@pytest.fixture
def numerix() -> Numerix:
    return Numerix({"1": "a b +", "sum": "a b +", "ratio": {"postfix": "a b /"}, "ids": "id a +"})


@pytest.mark.parametrize("more", [{}, {"data_type": "f64"}, {"data_type": "FP64"}])
def test_texts_are_answered_with_texts(numerix: Numerix, more: dict[str, str]) -> None:
    answer = numerix(text_request([["1", "1.0", "2.0"], ["1", "3.0", "4.0"]], **more))
    assert list(answer.computation_score_data.schema) == ["id", "score"]
    assert texts(answer) == [["1", "3.0"], ["1", "7.0"]]


@pytest.mark.parametrize("data_type", ["f32", "fp32", "FP32"])
def test_32_bits_are_computed_with_where_asked_for(numerix: Numerix, data_type: str) -> None:
    rows = [["1", "1.5", "2.5"], ["2", "3.5", "4.5"], ["3", "0.1", "0.2"]]
    answer = numerix(text_request(rows, data_type=data_type))
    assert texts(answer) == [["1", "4.0"], ["2", "8.0"], ["3", "0.3"]]


@pytest.mark.parametrize("data_type", ["f64", "int8", ""])
def test_64_bits_are_computed_with_otherwise(numerix: Numerix, data_type: str) -> None:
    answer = numerix(text_request([["3", "0.1", "0.2"]], data_type=data_type))
    assert texts(answer) == [["3", "0.30000000000000004"]]


def test_negative_numbers_are_numbers(numerix: Numerix) -> None:
    answer = numerix(text_request([["1", "-1", "-2"], ["1", "-3", "-4"]]))
    assert texts(answer) == [["1", "-3.0"], ["1", "-7.0"]]


def test_bytes_are_answered_with_bytes(numerix: Numerix) -> None:
    one = (1).to_bytes(8, "little")
    answer = numerix(byte_request([[one, f64(2), f64(1)], [one, f64(4), f64(3)]], data_type="f64"))
    assert list(answer.computation_score_data.schema) == ["id", "score"]
    assert values(answer) == [[one, f64(3)], [one, f64(7)]]


def test_ids_of_any_length_come_back_as_they_were(numerix: Numerix) -> None:
    ids = [b"", b"7", b"x" * 300, b"\xff\0", b"8"]
    rows = [[each, f32(n), f32(1)] for n, each in enumerate(ids)]
    answer = numerix(byte_request(rows, data_type="fp32"))
    assert values(answer) == [[each, f32(n + 1)] for n, each in enumerate(ids)]


def test_values_that_are_missing_are_zero(numerix: Numerix) -> None:
    answer = numerix(text_request([["1", str(n)] for n in range(10)]))
    assert texts(answer) == [["1", f"{n}.0"] for n in range(10)]
    answer = numerix(byte_request([[b"1", f64(2)], [b"2"], [], [b"3", f64(1), f64(1)]]))
    assert values(answer) == [[b"1", f64(2)], [b"2", f64(0)], [b"", f64(0)], [b"3", f64(2)]]


def test_values_beyond_the_schema_are_not_looked_at(numerix: Numerix) -> None:
    answer = numerix(text_request([["1", "1", "2", "what"]]))
    assert texts(answer) == [["1", "3.0"]]
    answer = numerix(byte_request([[b"1", f64(1), f64(2), b"what"]]))
    assert values(answer) == [[b"1", f64(3)]]


def test_the_first_row_decides_the_form_and_others_count_as_zeros(numerix: Numerix) -> None:
    request = text_request([["1", "1", "2"]])
    more = request.entity_score_data.entity_scores.add()
    more.byte_data.values.extend([b"2", f64(1), f64(2)])
    assert texts(numerix(request)) == [["1", "3.0"], ["", "0.0"]]
    request = byte_request([[b"1", f64(1), f64(2)]])
    more = request.entity_score_data.entity_scores.add()
    more.string_data.values.extend(["2", "1", "2"])
    assert values(numerix(request)) == [[b"1", f64(3)], [b"", f64(0)]]


def test_ids_are_zeros_as_operands_and_need_be_no_numbers(numerix: Numerix) -> None:
    answer = numerix(text_request([["shoe", "2", "0"]], compute_id="ids"))
    assert texts(answer) == [["shoe", "2.0"]]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("1e5", "100000.0"), ("inf", "inf"), (".5", "0.5"), ("1.", "1.0"), ("+1", "1.0")],
)
def test_numbers_may_be_written_as_floats_are(numerix: Numerix, text: str, answer: str) -> None:
    assert texts(numerix(text_request([["1", text, "0"]]))) == [["1", answer]]


@pytest.mark.parametrize("text", ["not_a_number", "", " 1", "1 ", "1_0", "٣", "0x10", "1,5"])
def test_a_text_that_is_no_number_is_named(numerix: Numerix, text: str) -> None:
    told = error(numerix(text_request([["1", "0", "0"], ["2", "3", text]])))
    assert told.startswith(f"row 1, column 'b': {text!r}")


def test_a_value_of_the_wrong_size_is_named(numerix: Numerix) -> None:
    rows = [[b"1", f64(1), f64(2)], [b"2", f64(1), f32(2)]]
    told = error(numerix(byte_request(rows)))
    assert told == "row 1, column 'b': 4 bytes where a number takes 8"
    assert "8 bytes where a number takes 4" in error(
        numerix(byte_request(rows[:1], data_type="fp32"))
    )


def test_each_part_that_is_missing_is_named_in_order(numerix: Numerix) -> None:
    assert error(numerix(Request())) == "entity_score_data is missing"
    request = Request(entity_score_data={})
    assert error(numerix(request)) == "compute_id is empty"
    request.entity_score_data.compute_id = "gone"
    assert error(numerix(request)) == "entity_scores is empty"
    request.entity_score_data.entity_scores.add()
    assert error(numerix(request)) == "schema is empty"
    request.entity_score_data.schema.append("id")
    assert "neither string_data nor byte_data" in error(numerix(request))
    request.entity_score_data.entity_scores[0].string_data.values.append("7")
    assert "'gone'" in error(numerix(request))


def test_a_name_that_is_there_twice_is_told_instead_of_guessed(numerix: Numerix) -> None:
    told = error(numerix(text_request([["1", "1", "2"]], schema=("id", "a", "a"))))
    assert told == "schema: 'a' is there twice"


def test_a_column_that_is_not_sent_is_named(numerix: Numerix) -> None:
    told = error(numerix(text_request([["1", "1"]], schema=("id", "a"))))
    assert "'b'" in told
    assert "'id', 'a'" in told


def test_nan_where_there_is_no_percentile_of_it_is_told() -> None:
    numerix = Numerix({"1": {"postfix": "a norm_percentile_5_95"}})
    told = error(numerix(text_request([["1", "nan"], ["2", "1"]], schema=("id", "a"))))
    assert "NaN" in told


def test_bytes_that_are_no_request_fail_the_call(numerix: Numerix) -> None:
    with pytest.raises(Aborted) as refused:
        numerix(b"\xff\xff")
    assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT
    assert numerix.calls[0].outcome == "caller"


def test_a_row_that_is_no_row_is_named(numerix: Numerix) -> None:
    body = byte_request([[b"1", f64(1), f64(2)]]).SerializeToString()
    assert body.count(b"\x12\x17\x0a") == 1
    told = error(numerix(body.replace(b"\x12\x17\x0a", b"\x12\x17\x0b")))
    assert told == "row 0 is no Score message"


def test_an_error_does_not_repeat_the_request(numerix: Numerix) -> None:
    rows = [["1", "2", "3"]] * 5_000 + [["1", "9" * 10_000 + "x", "3"]]
    assert len(error(numerix(text_request(rows)))) < 200


def test_too_many_calls_are_told_to_come_back() -> None:
    numerix = Numerix({"1": "a b +"}, at_once=1)
    with numerix.admission.admitted(), pytest.raises(Aborted) as refused:
        numerix(text_request([["1", "1", "2"]]))
    assert refused.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "retry-after-ms" in refused.value.trailing


def test_rows_without_an_answer_are_blank_where_that_was_asked_for(numerix: Numerix) -> None:
    rows = [[b"1", f32(1), f32(0)], [b"2", f32(6), f32(3)]]
    request = byte_request(rows, compute_id="ratio", data_type="fp32")
    assert "division by zero" in error(numerix(request))
    request.entity_score_data.blank_rows = True
    answer = numerix(request)
    assert values(answer) == [[b"1", b""], [b"2", f32(2)]]
    assert answer.computation_score_data.blank_reason == "division by zero"
    in_text = text_request([["1", "1", "0"], ["2", "6", "3"]], compute_id="ratio", blank_rows=True)
    assert texts(numerix(in_text)) == [["1", ""], ["2", "2.0"]]


def test_what_ended_is_told(numerix: Numerix) -> None:
    numerix(text_request([["1", "1", "2"]] * 3), [("numerix-caller-id", "shop")])
    numerix(text_request([["1", "1", "2"]], compute_id="gone"))
    first, second = numerix.calls
    assert (first.compute_id, first.caller, first.outcome, first.rows) == ("1", "shop", "ok", 3)
    assert (second.compute_id, second.caller, second.outcome) == ("", "unknown-caller", "error")


def test_a_long_request_is_answered_like_a_short_one(numerix: Numerix) -> None:
    numbers = np.arange(5_000, dtype=np.float32)
    rows = [[b"%d" % n, f32(n), f32(0.5)] for n in range(5_000)]
    answer = numerix(byte_request(rows, data_type="fp32"))
    scores = np.frombuffer(b"".join(score for _, score in values(answer)), np.float32)
    np.testing.assert_array_equal(scores, numbers + np.float32(0.5))
