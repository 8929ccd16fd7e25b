"""The reference page says what the store does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from inferflow.featurestore import importer, parse_schema

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "feature-schema.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_schema_of_the_page_is_a_schema() -> None:
    (example,) = blocks("yaml")
    schema = parse_schema(yaml.safe_load(example))
    assert schema.group("product", "attributes").ttl_s == 30 * 86400
    assert schema.entity("user_category").keys == ("user_id", "category_id")


def test_the_program_of_the_page_prints_what_was_put(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    exec(compile(example, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "41\n"


def test_the_size_of_a_commit_is_the_one_documented() -> None:
    assert f"{importer.COMMIT_ROWS:,} at a time" in PAGE.read_text(encoding="utf-8")
