"""Requests that cannot be scored: the status, and the place that the message names.

Counts are looked at before anything is made of what was counted, so a refusal stays cheap however
large the request is.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from grpc import StatusCode

from ...robustness.scenario import StartScenario
from .asking import LEGACY, PAIR, POINT, SLATE, add_feature, fp32, grouped, legacy, point
from .calling import Aborted, Caller

Made = tuple[str, Any]


def pairs(*groups: list[int], targets: int = 10) -> Made:
    numbered: Any = [str(number) for number in range(targets)]
    return PAIR, grouped("pairs", list(groups), [1.0] * len(groups), numbered)


def slates(*groups: list[int], targets: int = 10) -> Made:
    numbered: Any = [str(number) for number in range(targets)]
    return SLATE, grouped("slates", list(groups), [1.0] * len(groups), numbered)


def changed(change: Callable[[Any], object], path: str = POINT, request: Any = None) -> Made:
    made = point() if request is None else request
    change(made)
    return path, made


def older(**more: list[str]) -> Any:
    return legacy("ranker", **{"item_id": ["1", "2"], "user": ["7"], "hour": ["20"], **more})


def with_bytes(path: str, request: Any, old: bytes, new: bytes) -> Made:
    body = request.SerializeToString()
    assert body.count(old) == 1
    return path, body.replace(old, new)


def many_columns(field: str, count: int) -> Made:
    def add(request: Any) -> None:
        for number in range(count):
            getattr(request, field).add(name=f"f{number}", data_type=4)

    return changed(add)


def bools(request: Any) -> None:
    request.target_input_schema[0].data_type = 15
    for target, value in zip(request.targets, (b"\1", b"\0", b"\x82"), strict=True):
        target.feature_values[0] = value


BAD: dict[str, tuple[Made, str]] = {
    "not a message": ((POINT, b"\xff\xff"), "request: these bytes are not a PointWiseRequest"),
    "cut off": ((POINT, point().SerializeToString()[:-3]), "request: these bytes are not"),
    "another message": ((LEGACY, point().SerializeToString()), "request: these bytes are not"),
    "no targets": ((POINT, point(ids=())), "targets: there are none"),
    "100k targets": (
        (POINT, point(ids=tuple(map(str, range(100_000))))),
        "targets: there are more than the limit max_targets=10000",
    ),
    "100k ids": (
        (LEGACY, older(item_id=["1"] * 100_000)),
        "entities[0].ids: 100000 is more than the limit max_targets=10000",
    ),
    "100k entities": (
        (LEGACY, legacy("ranker", **{f"e{n}": ["1"] for n in range(100_000)})),
        "entities: there are more than the limit max_features=256",
    ),
    "300 features": (
        many_columns("target_input_schema", 300),
        "target_input_schema: 301 is more than the limit max_features=256",
    ),
    "100k context features": (
        many_columns("context_features", 100_000),
        "context_features: there are more than the limit max_features=256",
    ),
    "empty id": ((POINT, point(ids=("1", ""))), "targets[1].id: is empty"),
    "id of 1 MB": (
        (POINT, point(ids=("1", "x" * 1_000_000))),
        "targets[1].id: 1000000 is more than the limit max_id_bytes=512",
    ),
    "name of 1 MB": (
        changed(lambda r: r.context_features.add(name="x" * 1_000_000)),
        "context_features[2].name: 1000000 is more than the limit max_id_bytes=512",
    ),
    "older name of 1 MB": (
        (LEGACY, older(**{"x" * 1_000_000: ["1"]})),
        "entities[3].name: 1000000 is more than the limit max_id_bytes=512",
    ),
    "id that is not UTF-8": (
        with_bytes(POINT, point(ids=("1", "abc")), b"abc", b"a\xffc"),
        "targets[1]: is not a Target message",
    ),
    "older id that is not UTF-8": (
        with_bytes(LEGACY, older(item_id=["abc"]), b"abc", b"a\xffc"),
        "text that is not UTF-8",
    ),
    "text that is not UTF-8": (
        with_bytes(POINT, point("as_text", boosts=(b"1", b"abc", b"3")), b"abc", b"a\xffc"),
        "targets[1].boost: is not UTF-8 text",
    ),
    "pair below": (
        pairs(*[[0, 1]] * 17, [0, -1]),
        "pairs[17].second_target_index: index -1 is outside the 10 target(s)",
    ),
    "pair beyond": (
        pairs(*[[0, 1]] * 17, [10, 1]),
        "pairs[17].first_target_index: index 10 is outside the 10 target(s)",
    ),
    "pair far beyond": (
        pairs([0, 2**31 - 1]),
        "pairs[0].second_target_index: index 2147483647 is outside the 10 target(s)",
    ),
    "slate beyond": (
        slates([0, 1, 2], [0, 42, 1]),
        "slates[1].target_indices[1]: index 42 is outside the 10 target(s)",
    ),
    "empty slate": (slates([0, 1, 2], []), "slates[1]: a slate has at least one target"),
    "no pairs": (pairs(), "pairs: there are none"),
    "no slates": (slates(), "slates: there are none"),
    "too many pairs": (
        pairs(*[[0, 1]] * 100_001),
        "pairs: 100001 is more than the limit max_pairs=100000",
    ),
    "too many slates": (
        slates(*[[0]] * 1001),
        "slates: 1001 is more than the limit max_slates=1000",
    ),
    "slate of a million": (
        slates([0] * 1_000_000),
        "slates[0].target_indices: 1000000 is more than the limit max_slate_size=1000",
    ),
    "too few values": (
        changed(lambda r: r.targets[2].ClearField("feature_values")),
        "targets[2].feature_values: 0 value(s) for the 1 column(s)",
    ),
    "too many values": (
        changed(lambda r: r.targets[1].feature_values.append(b"1234")),
        "targets[1].feature_values: 2 value(s) for the 1 column(s)",
    ),
    "too few values of a pair": (
        changed(lambda r: r.pairs[0].ClearField("feature_values"), *pairs([0, 1])),
        "pairs[0].feature_values: 0 value(s) for the 1 column(s)",
    ),
    "older count": (
        (LEGACY, add_feature(older(), "item_id", "boost", "1", "2", "3")),
        "features.item_id.boost: 3 value(s) for 2 target(s)",
    ),
    "wrong length": (
        (POINT, point(boosts=(fp32(1), b"abc", fp32(1)))),
        "targets[1].boost: 3 bytes where FP32 takes 4",
    ),
    "older text": (
        (LEGACY, add_feature(older(hour=["x"]), "item_id", "boost", "1")),
        "entities.hour[0]: 'x' does not read as FP32",
    ),
    "stray bits": (changed(bools), "targets[2].boost: a Bool is the byte 0 or 1, not 130"),
    "no such type": (
        changed(lambda r: setattr(r.target_input_schema[0], "data_type", 99)),
        "target_input_schema[0] (boost).data_type: 99 is not a data type number",
    ),
    "name given twice": (
        changed(lambda r: r.target_input_schema.add(name="boost")),
        "target_input_schema[1]: 'boost' is already given as target_input_schema[0]",
    ),
    "name in both": (
        changed(lambda r: r.target_input_schema.add(name="hour")),
        "target_input_schema[1]: 'hour' is in context_features too",
    ),
    "no config id": ((POINT, point("")), "model_config_id: is empty"),
}


@pytest.mark.parametrize(("made", "says"), BAD.values(), ids=BAD)
def test_a_bad_request_is_refused_and_its_place_named(
    call: Caller, made: Made, says: str, scenario: StartScenario
) -> None:
    amounts = scenario("F3", "too many, too long, or no targets, ids, pairs and slates")
    path, request = made
    body = request if isinstance(request, bytes) else request.SerializeToString()
    began = time.process_time()
    with pytest.raises(Aborted) as refused:
        call(path, body)
    amounts.within("processor time until it is refused", time.process_time() - began, 0.05)
    code, told = refused.value.code, refused.value.details
    assert code is StatusCode.INVALID_ARGUMENT
    amounts.holds("its place is named", code.name, says in told)
    if "slates" in says or "pairs" in says:
        places = scenario("F4", "indices that cannot be")
        places.holds("its place is named", told[:60], says in told)


@pytest.mark.parametrize("name", ["100k targets", "100k ids", "id of 1 MB", "slate of a million"])
def test_a_refusal_needs_little_more_memory_than_the_request(
    call: Caller, name: str, scenario: StartScenario
) -> None:
    tried = scenario("F3", "a hundred thousand targets or ids, a megabyte of id")
    path, request = BAD[name][0]
    body = request.SerializeToString()
    tracemalloc.start()
    try:
        with pytest.raises(Aborted):
            call(path, body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    tried.at_most("Python's memory beside the body", (most - 200_000) / len(body), 2, " times")


@pytest.mark.parametrize(
    "config_id", ["nobody", "x" * 1_000_000, "a\0b"], ids=["short", "long", "odd"]
)
def test_an_unknown_config_is_not_found_and_no_other_is_named(
    call: Caller, config_id: str, scenario: StartScenario
) -> None:
    tried = scenario("F7", "an unknown, a huge, an odd name of a config")
    with pytest.raises(Aborted) as refused:
        call(POINT, point(config_id))
    code, told = refused.value.code, refused.value.details
    assert code is StatusCode.NOT_FOUND
    is_alone = told == f"no model config {config_id[:100]!r}"
    tried.holds("nothing but the name asked for is told", code.name, is_alone)


@pytest.mark.scenario("F3")
@pytest.mark.parametrize(
    "each", ["a\0b", "\u202eabc", "é", "x" * 512], ids=["nul", "rtl", "é", "long"]
)
def test_an_id_may_be_any_text_that_is_not_too_long(call: Caller, each: str) -> None:
    call(POINT, point(ids=("1", each, each)))
