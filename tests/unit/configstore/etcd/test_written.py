"""Configs read from keys, in every form there is."""

from __future__ import annotations

import json

import pytest

from inferflow.configstore import Document, Unreadable
from inferflow.configstore.etcd.layout import Layout
from inferflow.configstore.etcd.written import Reader, Written
from inferflow.errors import InvalidInput
from inferflow.rpc.etcd import Entry, Listing

LAYOUT = Layout("shop")
PREFIX = "/config/inferflow/services/shop/model-config/"
INNER = {"response_config": {"features": ["a"]}}
CONFIG = json.dumps(INNER)


def read_keys(values: dict[str, str | bytes]) -> Written:
    entries = {
        (PREFIX + key).encode(): Entry(
            value if isinstance(value, bytes) else value.encode(), number
        )
        for number, (key, value) in enumerate(values.items(), start=2)
    }
    return Reader(LAYOUT).read(Listing(9, entries))


def documents(written: Written) -> dict[str, Document]:
    return dict(written.folder.documents)


def problems(written: Written) -> list[Unreadable]:
    return list(written.folder.unreadable)


@pytest.mark.parametrize("name", ["config-map", "configMap", "ConfigMap", "CONFIG-MAP"])
def test_a_config_has_a_key_of_its_own(name: str) -> None:
    written = read_keys({f"{name}/ranker": CONFIG})
    (document,) = documents(written).values()
    assert (document.id, document.text, document.content) == ("ranker", CONFIG, INNER)
    assert document.file == f"{PREFIX}{name}/ranker"
    assert document.alone


def test_a_key_may_hold_the_config_under_its_id_too() -> None:
    written = read_keys({"config-map/ranker": json.dumps({"ranker": INNER})})
    assert documents(written)["ranker"].content == INNER


def test_ids_that_look_alike_are_different_configs() -> None:
    ids = ["m1", "M1", "m-1", "m10", "m1 ", "m_1"]
    written = read_keys({f"config-map/{each}": CONFIG for each in ids})
    assert sorted(documents(written)) == sorted(ids)
    assert problems(written) == []


def test_a_config_may_be_split_over_three_keys() -> None:
    written = read_keys(
        {
            "config-map/ranker/dag-execution-config": '{"component_dependency": {}}',
            "config-map/ranker/componentConfig": '{"x": 1}',
            "config-map/ranker/response-config": '{"features": ["a"]}',
        }
    )
    (document,) = documents(written).values()
    assert document.content == {
        "component_config": {"x": 1},
        "dag_execution_config": {"component_dependency": {}},
        "response_config": {"features": ["a"]},
    }
    assert document.alone
    assert len(written.places["ranker"].keys) == 3


def test_all_configs_may_be_in_one_object() -> None:
    written = read_keys({"config-map": json.dumps({"a": INNER, "b": INNER})})
    assert list(documents(written)) == ["a", "b"]
    assert not any(each.alone for each in documents(written).values())


def test_the_only_config_of_the_object_is_not_alone_there_either() -> None:
    assert not documents(read_keys({"config-map": json.dumps({"a": INNER})}))["a"].alone


def test_a_key_of_its_own_counts_before_the_object_and_both_are_told() -> None:
    own = json.dumps({"response_config": {"features": ["own"]}})
    written = read_keys({"config-map": json.dumps({"a": INNER, "b": INNER}), "config-map/a": own})
    assert documents(written)["a"].text == own
    (told,) = problems(written)
    assert told.what == f"'a' is also in {PREFIX}config-map/a"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("{ half", "not valid JSON at line 1"),
        ('{"response_config": {}, "response_config": {}}', "response_config"),
        ("[1, 2]", "not list"),
        (b"\xff\xfe", "not a text"),
        (json.dumps({"other": INNER}), "holds 'other', and not 'bad'"),
        ("", "not"),
    ],
)
def test_one_bad_config_hides_no_other(value: str | bytes, what: str) -> None:
    written = read_keys({"config-map/bad": value, "config-map/good": CONFIG})
    assert list(documents(written)) == ["good"]
    (told,) = problems(written)
    assert told.id == "bad"
    assert what in told.what


def test_a_part_that_is_bad_takes_its_config_with_it_and_no_other() -> None:
    written = read_keys(
        {
            "config-map/a/component-config": "{",
            "config-map/a/response-config": '{"features": ["a"]}',
            "config-map/b": CONFIG,
        }
    )
    assert list(documents(written)) == ["b"]
    assert [each.id for each in problems(written)] == ["a"]


def test_a_key_that_is_no_place_for_a_config_is_told() -> None:
    written = read_keys({"config-map/a/b": CONFIG, "config-map/a/b/component-config": "{}"})
    assert documents(written) == {}
    assert [each.id for each in problems(written)] == ["a/b", "a/b/component-config"]


def test_what_is_not_about_configs_is_left_alone() -> None:
    written = read_keys(
        {
            "service-config": "{",
            "service-config/v2-logging-type": "proto",
            "config-map/": "",
            "config-maps/x": CONFIG,
        }
    )
    assert documents(written) == {}
    assert problems(written) == []


def test_yaml_is_read_where_somebody_put_it() -> None:
    written = read_keys({"config-map/a": "response_config: {features: [a]}"})
    assert documents(written)["a"].format == "yaml"
    assert documents(written)["a"].content == INNER


@pytest.mark.parametrize("value", [b"{", b"[]", b"{}", b'{"version": {}, "value": "", "mark": ""}'])
def test_a_head_that_was_tampered_with_costs_its_config_its_history_only(value: bytes) -> None:
    own, other = LAYOUT.config("a"), LAYOUT.config("b")
    entries = {each: Entry(CONFIG.encode(), 2) for each in (own, other)}
    written = Reader(LAYOUT).read(Listing(9, {**entries, LAYOUT.head("a"): Entry(value, 3)}))
    assert sorted(documents(written)) == ["a", "b"]
    (told,) = problems(written)
    assert (told.id, told.file) == ("a", "/config/inferflow/services/shop/heads/a")
    assert "not a version" in told.what
    assert written.headless == {"a"}


def test_what_did_not_change_is_not_parsed_again() -> None:
    reader = Reader(LAYOUT)
    a, b = (f"{PREFIX}config-map/{each}".encode() for each in "ab")
    first = reader.read(Listing(3, {a: Entry(CONFIG.encode(), 2), b: Entry(b"{", 3)}))
    second = reader.read(Listing(4, {a: Entry(CONFIG.encode(), 2), b: Entry(b"{}", 4)}))
    assert second.folder.documents["a"] is first.folder.documents["a"]


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_name_that_cannot_be_part_of_a_key_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="APP_NAME"):
        Layout(name)


def test_what_a_server_follows_holds_configs_and_heads_and_nothing_else() -> None:
    start, end = LAYOUT.followed
    assert start <= LAYOUT.head("a") < end
    assert start <= LAYOUT.config("a") < end
    for other in (LAYOUT.text("x"), LAYOUT.version("a", 1), LAYOUT.status("a", "me")):
        assert not start <= other < end
        assert not other.startswith(b"/config/inferflow/services/shop/model-config")
