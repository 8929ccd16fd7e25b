"""docs/reference/config.md says what the code does: every field, every spelling, every default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from inferflow.plan import schema
from inferflow.plan.schema import TOLERATED_KEYS, Doc
from inferflow.testing import World, entity, model

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "config.md"
GLOSSARY = PAGE.with_name("glossary.md")


def all_docs(doc: type[Doc] = Doc) -> Iterator[type[Doc]]:
    for each in doc.__subclasses__():
        yield each
        yield from all_docs(each)


def tables() -> dict[str, dict[str, tuple[list[str], str]]]:
    """class → field → (other spellings, default), from the table after `<!-- class -->`."""
    found: dict[str, dict[str, tuple[list[str], str]]] = {}
    current: dict[str, tuple[list[str], str]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        marker = re.fullmatch(r"<!-- (\w+) -->", line)
        if marker:
            current = found.setdefault(marker[1], {})
        elif line.startswith("| `") and current is not None:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 4:
                current[cells[0].strip("`")] = (re.findall(r"`([^`]+)`", cells[1]), cells[2])
    return found


def spellings(name: str, field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    choices = [str(each) for each in alias.choices] if isinstance(alias, AliasChoices) else [name]
    return [choice for choice in choices if not choice.endswith("_")]


def own_fields(doc: type[Doc]) -> dict[str, FieldInfo]:
    inherited = {name for base in doc.__mro__[1:] for name in getattr(base, "model_fields", {})}
    return {name: field for name, field in doc.model_fields.items() if name not in inherited}


def default_text(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if isinstance(default, bool):
        return str(default).lower()
    return "none" if default in (None, "", [], {}) else str(default)


@pytest.mark.parametrize("doc", sorted(all_docs(), key=lambda doc: doc.__name__))
def test_every_field_is_documented_with_its_spellings_and_default(doc: type[Doc]) -> None:
    documented = tables()[doc.__name__]
    for name, field in own_fields(doc).items():
        first, *others = spellings(name, field)
        assert first in documented, f"{doc.__name__}.{first} is not in its table"
        also, default = documented[first]
        assert [each for each in also if "-" not in each] == others
        assert default == default_text(field), f"{doc.__name__}.{first}"


@pytest.mark.parametrize("doc", sorted(all_docs(), key=lambda doc: doc.__name__))
def test_nothing_is_documented_that_does_not_exist(doc: type[Doc]) -> None:
    known = {spellings(name, field)[0] for name, field in own_fields(doc).items()}
    assert set(tables()[doc.__name__]) == known


def test_every_choice_a_field_offers_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    choices = (schema.OnError, schema.NanPolicy, schema.SlateReduce)
    for choice in [word for literal in choices for word in literal.__args__]:
        assert f"`{choice}`" in text


def test_keys_that_are_tolerated_are_listed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for key in TOLERATED_KEYS:
        assert f"`{key}`" in text


def test_the_example_compiles() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    world = World(
        entities=[
            entity("user", profile={"age": "INT32"}),
            entity("product", attributes={"category_id": "INT32", "price": "FP32"}),
            entity("user_category", "user_id", "category_id", affinity={"share": "FP32"}),
        ],
        models={"ranker": model(lambda x: x, inputs={"x": "FP32[N,4]"})},
        expressions={"blend_v1": "score + price"},
    )
    config: dict[str, Any] = yaml.safe_load(example[1])
    assert [note.what for note in world.plan(config).notes] == [
        "column 'hour' is written by no step: the request must bring it, else 12 is used"
    ]


def test_links_inside_the_page_lead_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in headings}
    for target in re.findall(r"\]\(#([^)]+)\)", text):
        assert target in anchors


def test_the_glossary_explains_every_top_level_word_of_a_config() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    for word in (
        "component_dependency",
        "feature_initializer",
        "fs_keys",
        "fs_request",
        "model_end_points",
        "feature_map",
        "score_columns",
        "score_mapping",
        "compute_id",
        "response_config",
    ):
        assert f"`{word}`" in text
