"""Reading JSON and YAML: nothing overwritten, nothing reinterpreted, nothing that falls over."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.plan.document import MAX_DEPTH, parse_document, read_document
from inferflow.plan.normalise import unwrap


def from_yaml(text: str) -> Any:
    return parse_document(text, name="c.yaml", is_json=False)


def from_json(text: str) -> Any:
    return parse_document(text, name="c.json", is_json=True)


# --- keys given twice -------------------------------------------------------------------------


@pytest.mark.scenario("C4")
def test_a_key_given_twice_in_json_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"c.json: key 'b' is given twice in one object"):
        from_json('{"a": {"b": 1, "c": 2, "b": 3}}')


def test_a_key_given_twice_in_yaml_is_refused_with_its_place() -> None:
    with pytest.raises(
        InvalidInput, match=r"c.yaml: not valid YAML at line 3, column 3: key 'b' is given twice"
    ):
        from_yaml("a:\n  b: 1\n  b: 2\n")


def test_the_same_key_in_two_objects_is_fine() -> None:
    assert from_json('[{"a": 1}, {"a": 2}]') == from_yaml("- a: 1\n- a: 2\n")


def test_a_merged_key_may_be_overridden() -> None:
    text = "base: &base {deadline: 100, batch_size: 50}\nranker: {<<: *base, deadline: 20}\n"
    assert from_yaml(text)["ranker"] == {"deadline": 20, "batch_size": 50}


@pytest.mark.parametrize("text", ["[1, 2]: x", "? {a: 1}\n: x", "null: x"])
def test_a_key_is_a_plain_word(text: str) -> None:
    with pytest.raises(InvalidInput, match="a key must be a plain word or number"):
        from_yaml(text)


# --- values mean what they look like ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("true", True),
        ("False", False),
        ("1e-5", 1e-5),
        ("1E3", 1000.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("-7", -7),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("", None),
        ("'7'", "7"),
        (".inf", math.inf),
    ],
)
def test_yaml_follows_the_core_rules_of_1_2(text: str, value: Any) -> None:
    found = from_yaml(f"x: {text}")["x"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_has_no_such_numbers(word: str) -> None:
    with pytest.raises(InvalidInput, match=f"{word} is not a JSON number"):
        from_json(f'{{"a": {word}}}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_back_as_it_was_written(value: Any) -> None:
    import json

    assert from_json(json.dumps(value)) == value


# --- what cannot be read ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", r"c.json: not valid JSON at line 1, column 2: "),
        ('{"a": 1,}', r"c.json: not valid JSON at line 1, column "),
        ("", r"c.json: not valid JSON at line 1, column 1: "),
        ('{"a": "\\ud800"}', r"c.json: a \\ud… escape stands for half a character"),
        ("1" * 5000, r"c.json: holds a number too long to read"),
        ("[" * 100_000, r"c.json: nested too deeply"),
    ],
)
def test_broken_json_is_refused_with_its_place(text: str, error: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{error}"):
        from_json(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: b: c", r"c.yaml: not valid YAML at line 1, column 5: "),
        ("a: [1, 2", r"c.yaml: not valid YAML at line "),
        ("a: 1\n---\nb: 2", r"c.yaml: not valid YAML at line 2, column 1: "),
        ("a: !!python/object:os.system x", r"c.yaml: not valid YAML at line 1, column 4: "),
        ("a: *nobody", r"c.yaml: not valid YAML at line 1, column 4: "),
        ("a: &a [*a]", r"c.yaml: \*a refers to itself"),
        ("1" * 5000, r"c.yaml: holds a number too long to read"),
        ("[" * 100_000, r"c.yaml: nested too deeply"),
        ("- " * 5_000, r"c.yaml: nested too deeply"),
    ],
)
def test_broken_yaml_is_refused_with_its_place(text: str, error: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{error}"):
        from_yaml(text)


def test_aliases_of_aliases_may_not_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(InvalidInput, match=r"c.yaml: holds more than 1,000,000 values"):
        from_yaml("\n".join(lines))


def test_any_depth_a_config_needs_is_fine() -> None:
    depth = MAX_DEPTH - 1
    assert from_yaml("[" * depth + "]" * depth)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for is_json in (True, False):
        try:
            parse_document(text, name="c", is_json=is_json)
        except InvalidInput as refused:
            assert str(refused).startswith("c: ")  # noqa: PT017


# --- files ------------------------------------------------------------------------------------


def test_the_suffix_says_how_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": "on"}')
    (tmp_path / "a.yaml").write_text("a: on")
    assert read_document(tmp_path / "a.json") == read_document(tmp_path / "a.yaml") == {"a": "on"}


def test_a_file_that_cannot_be_read_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    with pytest.raises(InvalidInput, match=r"^latin.yaml: cannot be read: "):
        read_document(tmp_path / "latin.yaml")
    with pytest.raises(InvalidInput, match=r"^none.yaml: cannot be read: "):
        read_document(tmp_path / "none.yaml")


def test_a_file_holds_configs_by_id_or_one_alone() -> None:
    inner = {"dag_execution_config": {}}
    assert unwrap({"a": inner, 7: inner}, "file") == {"a": inner, "7": inner}
    assert unwrap(inner, "file") == {"file": inner}
    assert unwrap({"response_config": {}}, "file") == {"file": {"response_config": {}}}


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (None, "file: a config is an object, not NoneType"),
        ([], "file: a config is an object, not list"),
        ({}, "file: holds no config"),
    ],
)
def test_a_file_without_a_config_is_refused(document: Any, error: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{error}$"):
        unwrap(document, "file")
