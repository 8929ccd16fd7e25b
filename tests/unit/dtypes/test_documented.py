"""The reference page on data types says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inferflow.dtypes import DTYPES, cast, format_text, parse_dtype, parse_text
from inferflow.errors import CastFailed

from ...robustness.scenario import StartScenario

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "data-types.md"


def table(*header: str) -> list[list[str]]:
    """Rows of the one table on the page with this header, without code marks."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"| {' | '.join(header)} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    return rows


NAMES = table("Type", "Number", "Bytes", "Also written")
CASTS = table("From", "Value", "To", "Result")
TEXTS = table("Type", "Value", "Text")


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row[0])
def test_every_documented_spelling_is_accepted(row: list[str]) -> None:
    name, number, size, spellings = row
    dtype = DTYPES[int(number)]
    assert dtype.name == name
    assert (str(dtype.size) if dtype.size else "any") == size
    for spelling in [name, *spellings.split(", ")]:
        assert parse_dtype(spelling) is dtype
        assert parse_dtype("DataType" + spelling) is dtype
        for vector in (f"{spelling}Vector", f"{spelling}_vector", f"vector_{spelling}"):
            assert parse_dtype(vector) is dtype.vector


def test_every_type_is_documented() -> None:
    assert [row[0] for row in NAMES] == [DTYPES[code].name for code in range(1, 16)]


@pytest.mark.parametrize(("source", "value", "target", "result"), CASTS)
def test_every_documented_cast_holds(
    source: str, value: str, target: str, result: str, scenario: StartScenario
) -> None:
    tried = scenario("F6", "the casts of the documented table")
    given, wanted = parse_dtype(source), parse_dtype(target)
    values = parse_text([value], given, 0)
    if result == "refused":
        with pytest.raises(CastFailed):
            cast(values, given, wanted)
    else:
        assert format_text(cast(values, given, wanted), wanted) == [result]
    tried.shown("as documented", "as documented")


@pytest.mark.parametrize(("name", "value", "text"), TEXTS)
def test_every_documented_text_form_holds(name: str, value: str, text: str) -> None:
    dtype = parse_dtype(name)
    assert format_text(parse_text([value], dtype, 0), dtype) == [text]


def test_the_spellings_named_in_prose_are_accepted() -> None:
    prose = re.search(r"prefix `vector_`\n\((.*)\)", PAGE.read_text(encoding="utf-8"))
    assert prose is not None
    for spelling in re.findall(r"`([^`]+)`", prose.group(1)):
        assert parse_dtype(spelling).is_vector
