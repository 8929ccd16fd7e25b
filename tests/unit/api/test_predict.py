"""The Predict calls: what they answer, and every way they are refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from grpc import StatusCode

from inferflow._proto import messages
from inferflow.dtypes import DTYPES, FP32, INT64, STRING

from ...robustness.scenario import StartScenario
from .asking import PAIR, POINT, SLATE, fp32, grouped, point, text_point
from .calling import Aborted, Caller


def answer(call: Caller, request: Any, **more: Any) -> Any:
    return messages.PointWiseResponse.FromString(call(POINT, request, **more))


def floats(values: Any) -> list[float]:
    return [struct.unpack("<f", value)[0] for value in values]


def scores(response: Any) -> list[float]:
    return floats(row.output_values[-1] for row in response.target_scores)


# --- answers --------------------------------------------------------------------------------


def test_targets_are_scored_in_their_order_with_their_own_values(call: Caller) -> None:
    response = answer(call, point(ids=("3", "1", "9")))
    assert scores(response) == [53.0, 51.5, 60.0]
    assert [row.output_values[0] for row in response.target_scores] == [b"3", b"1", b"9"]
    assert [row.output_values[1] for row in response.target_scores] == [
        b"item 3",
        b"item 1",
        b"item 9",
    ]


def test_the_schema_tells_the_true_types(call: Caller) -> None:
    schema = answer(call, point()).target_output_schema
    assert [(each.name, DTYPES[each.data_type].name, each.vector_dim) for each in schema] == [
        ("item_id", "String", 0),
        ("item:facts:title", "String", 0),
        ("boost", "FP32", 0),
        ("rank:score", "FP32", 0),
    ]


def test_the_answer_names_the_version_of_its_config(call: Caller) -> None:
    answer(call, point())
    assert len(call.context.trailing["x-inferflow-config-version"]) == 32


def test_numbers_alone_are_answered_like_numbers_beside_text(call: Caller) -> None:
    response = answer(call, point("numbers"))
    assert scores(response) == [51.0, 52.5, 54.0]
    assert floats(row.output_values[0] for row in response.target_scores) == [0.0, 0.5, 1.0]


def test_text_values_are_read_as_text_where_the_config_says_so(call: Caller) -> None:
    assert scores(answer(call, text_point("as_text"))) == [51.0, 52.5]


def test_auto_takes_either(call: Caller) -> None:
    assert scores(answer(call, text_point("either"))) == [51.0, 52.5]
    assert scores(answer(call, point("either"))) == [51.0, 52.5, 54.0]


def test_an_id_in_the_context_may_be_of_any_type_and_named_like_its_entity(call: Caller) -> None:
    request = point(ids=("1",))
    del request.context_features[0]
    request.context_features.add(name="user", value=struct.pack("<q", 7), data_type=INT64.code)
    assert scores(answer(call, request)) == [51.0]


def test_the_tenant_is_a_column_where_the_config_reads_one(call: Caller) -> None:
    response = answer(call, point("tenants", ids=("1",), tenant_id="acme"))
    assert response.target_scores[0].output_values[0] == b"acme"
    assert len(answer(call, point(tenant_id="acme")).target_scores) == 3


def test_a_failed_step_marks_its_rows_and_leaves_their_values_empty(call: Caller) -> None:
    response = answer(call, point("broken"))
    assert [row.output_values[-1] for row in response.target_scores] == [b"", b"", b""]
    assert all("no more" in row.error for row in response.target_scores)
    assert "no more" in response.request_error
    assert [row.output_values[0] for row in response.target_scores] == [b"1", b"2", b"3"]


def test_a_large_request_is_answered_like_a_small_one(call: Caller) -> None:
    ids = tuple(str(n % 20) for n in range(5000))
    response = answer(call, point(ids=ids, boosts=(fp32(0.0),) * 5000))
    assert scores(response) == [50.0 + n % 20 for n in range(5000)]


def test_a_share_of_answers_carries_all_model_inputs_first(call: Caller) -> None:
    names = [each.name for each in answer(call, point("shown")).target_output_schema]
    assert names == [
        "item:facts:price",
        "user:facts:age",
        "hour",
        "boost",
        "item_id",
        "item:facts:title",
        "rank:score",
    ]


def test_the_share_goes_by_who_asks(call: Caller) -> None:
    def is_full(user: str) -> bool:
        response = answer(call, point("some_shown"), metadata=(("user-id", user),))
        return len(response.target_output_schema) > 4

    # Buckets of that day: user123 is 93; the share is the lower half.
    assert not is_full("user123")
    assert is_full("u1") is not is_full("u3")


def test_pairs_are_scored_with_values_of_their_own(call: Caller) -> None:
    request = grouped("pairs", [[0, 1], [3, 0]], [0.5, 1.0])
    response = messages.PairWiseResponse.FromString(call(PAIR, request))
    assert [each.name for each in response.pair_output_schema] == ["rank:score"]
    assert [each.name for each in response.target_output_schema] == ["item:facts:price"]
    assert floats(row.output_values[0] for row in response.pair_scores) == [-0.5, 4.0]
    assert floats(row.output_values[0] for row in response.target_scores) == [1.0, 2.0, 3.0, 4.0]


def test_slates_are_scored_with_values_of_their_own(call: Caller) -> None:
    request = grouped("slates", [[0, 1, 2], [3, 3, 0]], [0.5, 1.0])
    response = messages.SlateWiseResponse.FromString(call(SLATE, request))
    assert [each.name for each in response.slate_output_schema] == ["rank:score"]
    assert floats(row.output_values[0] for row in response.slate_scores) == [6.5, 10.0]
    assert len(response.target_scores) == 4


# --- refusals -------------------------------------------------------------------------------


def _changed(change: Callable[[Any], object], config_id: str = "ranker") -> Any:
    request = point(config_id)
    change(request)
    return request


def _twice(request: Any, field: str) -> None:
    getattr(request, field).append(getattr(request, field)[0])


REFUSED: dict[str, tuple[Any, str]] = {
    "no targets": (_changed(lambda r: r.ClearField("targets")), "targets: there are none"),
    "no config": (_changed(lambda r: r.ClearField("model_config_id")), "model_config_id: is empty"),
    "empty id": (_changed(lambda r: r.targets[1].ClearField("id")), "targets[1].id: is empty"),
    "long id": (_changed(lambda r: setattr(r.targets[1], "id", "x" * 513)), "id_bytes=512"),
    "short value": (
        point(boosts=(fp32(1), b"123", fp32(1))),
        "targets[1].boost: 3 bytes where FP32 takes 4",
    ),
    "all short": (point(boosts=(b"123",) * 3), "targets[0].boost: 3 bytes where FP32 takes 4"),
    "no value": (
        _changed(lambda r: r.targets[2].ClearField("feature_values")),
        "targets[2].feature_values: 0 value(s) for the 1 column(s)",
    ),
    "context length": (
        _changed(lambda r: setattr(r.context_features[1], "value", b"1")),
        "context_features.hour: 1 bytes where Int32 takes 4",
    ),
    "schema twice": (
        _changed(lambda r: _twice(r, "target_input_schema")),
        "target_input_schema[1]: 'boost' is already given",
    ),
    "context twice": (
        _changed(lambda r: _twice(r, "context_features")),
        "context_features[2]: 'user_id' is already given",
    ),
    "both": (
        _changed(lambda r: r.context_features.add(name="boost", value=fp32(1), data_type=4)),
        "target_input_schema[0]: 'boost' is in context_features too",
    ),
    "named like the ids": (
        _changed(lambda r: setattr(r.target_input_schema[0], "name", "item_id")),
        "target_input_schema[0]: 'item_id' is the name of the target ids",
    ),
    "unnamed": (_changed(lambda r: r.target_input_schema[0].ClearField("name")), "has no name"),
    "unknown type": (
        _changed(lambda r: setattr(r.target_input_schema[0], "data_type", 77)),
        "77 is not a data type",
    ),
    "missing column": (
        _changed(lambda r: r.context_features.pop()),
        "column 'hour' is not given",
    ),
    "which ids": (_changed(lambda r: r.context_features.pop(0)), "id_column"),
    "text in a number": (
        _changed(lambda r: setattr(r.target_input_schema[0], "data_type", STRING.code)),
        "boost",
    ),
    "pairs with no slate step": (
        messages.PairWiseRequest(
            model_config_id="numbers",
            context_features=point().context_features,
            target_input_schema=point().target_input_schema,
            targets=point().targets,
            pairs=[messages.TargetPair(second_target_index=1)],
        ),
        "no step that scores pairs",
    ),
    "no pairs": (grouped("pairs", [], []), "pairs: there are none"),
    "no slates": (grouped("slates", [], []), "slates: there are none"),
    "pairs of nothing": (grouped("pairs", [[0, 1]], [1.0], ids=""), "targets: there are none"),
    "pair after the end": (
        grouped("pairs", [[0, 1], [2, 4]], [1.0, 1.0]),
        "pairs[1].second_target_index: index 4 is outside the 4 target(s)",
    ),
    "pair before the start": (
        grouped("pairs", [[-1, 1]], [1.0]),
        "pairs[0].first_target_index: index -1",
    ),
    "huge index": (
        grouped("slates", [[0, 2**31 - 1, 1]], [1.0]),
        "slates[0].target_indices[1]: index 2147483647",
    ),
    "empty slate": (grouped("slates", [[0, 1, 2], []], [1.0, 1.0]), "slates[1]: a slate has"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_cannot_be_is_refused_with_its_place(
    call: Caller, name: str, scenario: StartScenario
) -> None:
    tried = scenario("F5", "values that do not fit their number, type or length")
    request, message = REFUSED[name]
    path = f"/Predict/Infer{request.DESCRIPTOR.name.removesuffix('Request')}"
    with pytest.raises(Aborted) as refused:
        call(path, request)
    code = refused.value.code
    assert code is StatusCode.INVALID_ARGUMENT
    tried.holds("refused, with the column", code.name, message in refused.value.details)


def test_pair_values_are_checked_like_target_values(call: Caller) -> None:
    request = grouped("pairs", [[0, 1], [1, 0]], [1.0, 1.0])
    request.pairs[1].feature_values[0] = b"12"
    with pytest.raises(Aborted, match=r"pairs\[1\].gap: 2 bytes where FP32 takes 4"):
        call(PAIR, request)
    request.pairs[1].ClearField("feature_values")
    with pytest.raises(Aborted, match=r"pairs\[1\].feature_values: 0 value"):
        call(PAIR, request)


def test_pair_values_may_not_be_in_the_context_too(call: Caller) -> None:
    request = grouped("pairs", [[0, 1]], [1.0])
    request.context_features.add(name="gap", value=fp32(1), data_type=FP32.code)
    with pytest.raises(Aborted, match=r"pair_input_schema\[0\]: 'gap' is in context_features too"):
        call(PAIR, request)


def test_too_many_targets_are_refused_before_they_are_read(call: Caller) -> None:
    request = messages.PointWiseRequest(model_config_id="ranker")
    request.MergeFrom(point())
    request.targets.extend([messages.Target(id="1")] * 100_000)
    with pytest.raises(Aborted, match="more than the limit max_targets=10000") as refused:
        call(POINT, request)
    assert refused.value.code is StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("path", [POINT, PAIR, SLATE])
@pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05abc", b"\x0a\x02\xff\xfe", b"garbage"])
def test_bytes_that_are_no_message_are_the_callers_fault(
    call: Caller, path: str, body: bytes
) -> None:
    with pytest.raises(Aborted) as refused:
        call(path, body)
    assert refused.value.code is StatusCode.INVALID_ARGUMENT


@pytest.mark.scenario("F7")
def test_an_unknown_config_is_not_found_and_others_are_not_named(call: Caller) -> None:
    with pytest.raises(Aborted) as refused:
        call(POINT, point("rankr"))
    assert refused.value.code is StatusCode.NOT_FOUND
    assert "'ranker'" not in refused.value.details


def test_a_config_with_problems_is_a_failed_precondition(call: Caller) -> None:
    with pytest.raises(Aborted) as refused:
        call(POINT, point("bad"))
    assert refused.value.code is StatusCode.FAILED_PRECONDITION


def test_not_a_number_is_a_value_like_any_other(call: Caller) -> None:
    response = answer(call, point(ids=("1",), boosts=(fp32(float("nan")),)))
    assert np.isnan(scores(response)[0])
