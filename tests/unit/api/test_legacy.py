"""RetrieveModelScore: text in, a table of text out."""

from __future__ import annotations

from typing import Any

import pytest
from grpc import StatusCode

from inferflow._proto import messages

from .asking import LEGACY, add_feature, legacy
from .calling import Aborted, Caller

HOUR = {"hour": ["20"]}
USER = (("user-id", "7"),)


def table(call: Caller, request: Any, **more: Any) -> list[list[str]]:
    response = messages.InferflowResponse.FromString(call(LEGACY, request, **more))
    return [list(line.data) for line in response.component_data]


def asked(config_id: str = "ranker", **entities: list[str]) -> Any:
    given = {"item_id": ["1", "2"], "user": ["7"], **HOUR, **entities}
    return add_feature(legacy(config_id, **given), "item_id", "boost", "0.5", "1000000")


def test_the_first_line_names_the_columns_and_each_row_follows(call: Caller) -> None:
    assert table(call, asked()) == [
        ["item_id", "item:facts:title", "boost", "rank:score"],
        ["1", "item 1", "0.5", "51.5"],
        ["2", "item 2", "1e+06", "1.000052e+06"],
    ]


def test_headers_are_entities_where_the_request_has_none(call: Caller) -> None:
    request = add_feature(legacy(item_id=["1"], **HOUR), "item_id", "boost", "0")
    assert table(call, request, metadata=USER)[1] == ["1", "item 1", "0", "51"]


def test_a_header_does_not_compete_with_what_the_request_names(call: Caller) -> None:
    other = (("user-id", "somebody else"), ("app-version-code", "9"))
    request = add_feature(legacy(item_id=["1"], user=["7"], **HOUR), "item_id", "boost", "0")
    assert table(call, request, metadata=other)[1][-1] == "51"


def test_the_first_of_two_entities_counts_but_features_of_both_do(call: Caller) -> None:
    request = legacy(item_id=["1"], user=["7"], **HOUR)
    request.entities.add(entity="item_id", ids=["2", "3"])
    request.entities[-1].features.add(name="boost", ids_feature_value=["4"])
    request.entities[-1].features.add(name="boost", ids_feature_value=["5"])
    request.entities[-1].features.add(name="user", ids_feature_value=["6"])
    assert table(call, request) == [
        ["item_id", "item:facts:title", "boost", "rank:score"],
        ["1", "item 1", "4", "55"],
    ]


def test_one_value_of_a_feature_holds_for_all_rows(call: Caller) -> None:
    request = add_feature(legacy(item_id=["1", "2"], user=["7"], **HOUR), "item_id", "boost", "1")
    assert [line[-1] for line in table(call, request)[1:]] == ["52", "53"]


def test_missing_values_are_empty_texts_and_the_failure_is_told(call: Caller) -> None:
    request = asked("broken")
    response = messages.InferflowResponse.FromString(call(LEGACY, request))
    assert [line.data[-1] for line in response.component_data] == ["rank:score", "", ""]
    assert "no more" in response.error.message


def test_an_answer_without_failures_has_no_error(call: Caller) -> None:
    response = messages.InferflowResponse.FromString(call(LEGACY, asked()))
    assert not response.HasField("error")


def test_a_share_of_answers_carries_all_model_inputs_first(call: Caller) -> None:
    header, first, _ = table(call, asked("shown"))
    assert header[:4] == ["item:facts:price", "user:facts:age", "hour", "boost"]
    assert header[4:] == ["item_id", "item:facts:title", "rank:score"]
    assert first == ["1", "30", "20", "0.5", "1", "item 1", "51.5"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (legacy(), "entities: there are none"),
        (legacy(**{"": ["1"]}), "entities[0].entity: is empty"),
        (asked(user=[]), "entities.user: has no ids"),
        (asked(user=["7", "8", "9"]), "has 2 ids while"),
        (
            add_feature(legacy(item_id=["1"]), "item_id", ""),
            "entities[0].features[0]: has no name",
        ),
        (
            add_feature(legacy(item_id=["1"], user=["7"], **HOUR), "item_id", "boost", "1", "2"),
            "2 value(s) for 1 target(s)",
        ),
        (
            add_feature(legacy(item_id=["1"], user=["7"], **HOUR), "item_id", "boost", "much"),
            "'much' does not read as FP32",
        ),
        (asked(hour=["late"]), "'late' does not read as FP32"),
        (asked(item_id=["1", ""]), "a key cannot be empty"),
        (legacy("", item_id=["1"]), "model_config_id: is empty"),
    ],
)
def test_a_request_that_cannot_be_is_refused(call: Caller, request_: Any, message: str) -> None:
    with pytest.raises(Aborted) as refused:
        call(LEGACY, request_)
    assert refused.value.code is StatusCode.INVALID_ARGUMENT
    assert message in refused.value.details


def test_bytes_that_are_no_message_are_the_callers_fault(call: Caller) -> None:
    with pytest.raises(Aborted) as refused:
        call(LEGACY, b"\x0a\x05abc")
    assert refused.value.code is StatusCode.INVALID_ARGUMENT
