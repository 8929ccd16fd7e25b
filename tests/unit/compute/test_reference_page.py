"""The reference page covers every function, and every example on it is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from inferflow.compute import (
    FUNCTIONS,
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_NODES,
    compile_expression,
)

PAGE = (Path(__file__).parents[3] / "docs/reference/expressions.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


class Example(NamedTuple):
    kind: str
    text: str
    columns: dict[str, str]
    expected: str


class Row(NamedTuple):
    signature: str
    doc: str
    example: Example


def table(section: str) -> list[Row]:
    """Rows of a function table: signature, meaning, example, input columns, result."""
    rows = []
    for line in SECTIONS[section].splitlines():
        if line.startswith("| `"):
            cells = [c.strip().replace(r"\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            signature, doc, text, given, result = cells
            columns = dict(part.split(" = ", 1) for part in re.findall(r"`([^`]+)`", given))
            example = Example("infix", text.strip("`"), columns, result.strip("`"))
            rows.append(Row(signature.strip("`"), doc, example))
    return rows


def fenced() -> list[Example]:
    examples = []
    for kind, body in re.findall(r"^```(infix|postfix)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        text, *given, result = body.strip().splitlines()
        columns = dict(line.split(" = ", 1) for line in given)
        examples.append(Example(kind, text, columns, result.removeprefix("=> ")))
    return examples


ROW_BY_ROW, ACROSS = table("Row by row"), table("Across rows")
EXAMPLES = [*fenced(), *(row.example for row in (*ROW_BY_ROW, *ACROSS))]


def read_column(text: str) -> np.ndarray:
    words = text.split()
    if words[0].startswith("["):
        return np.array([[float(x) for x in word.strip("[]").split(",")] for word in words])
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        return np.array(words, object)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.text)
def test_an_example_gives_the_result_it_shows(evaluate, precision, example):
    columns = {name: read_column(text) for name, text in example.columns.items()}
    answer = evaluate({example.kind: example.text}, columns, precision=precision)
    shown = example.expected.split()
    expected = [float("nan" if word == "marked" else word) for word in shown]
    marked = [word == "marked" for word in shown]
    np.testing.assert_allclose(answer.values, expected, rtol=1e-5, atol=1e-6)
    assert (answer.invalid is not None) == any(marked)
    assert answer.invalid is None or answer.invalid.tolist() == marked


def test_examples_are_found():
    assert len(fenced()) >= 8
    assert {example.kind for example in EXAMPLES} == {"infix", "postfix"}


@pytest.mark.parametrize(("section", "cross_row"), [("Row by row", False), ("Across rows", True)])
def test_every_function_is_listed_with_its_signature_and_meaning(section, cross_row):
    listed = [(row.signature, row.doc) for row in table(section)]
    assert listed == [
        (function.signature, function.doc)
        for function in FUNCTIONS.values()
        if function.cross_row == cross_row
    ]


@pytest.mark.parametrize("row", [*ROW_BY_ROW, *ACROSS], ids=lambda row: row.signature)
def test_the_example_of_a_function_uses_it(row):
    name = next(f.name for f in FUNCTIONS.values() if f.signature == row.signature)
    assert name in compile_expression({"infix": row.example.text}).postfix().split()


def test_the_postfix_operators_are_listed():
    for kind, operands in (("Binary", 2), ("Unary", 1)):
        (listed,) = re.findall(rf"^- {kind},[^`]*`([^`]+)`", PAGE, re.MULTILINE)
        assert set(listed.split()) == {
            function.name
            for function in FUNCTIONS.values()
            if function.in_postfix and len(function.params) == operands
        }


def test_the_limits_are_those_of_the_code():
    limits = re.findall(r"^\| [^|]+ \| (\d+) \|$", PAGE, re.MULTILINE)
    assert list(map(int, limits)) == [MAX_LENGTH, MAX_NODES, MAX_DEPTH]
