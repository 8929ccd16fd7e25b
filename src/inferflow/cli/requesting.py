"""A request from a file, from options, or from a file with some parts replaced by options."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from inferflow.engine.request import ScoreRequest

RequestFile = Annotated[
    str | None,
    typer.Option("--request", "-r", metavar="FILE", help="A request as JSON; - reads stdin."),
]
EntityIds = Annotated[
    list[str] | None,
    typer.Option(
        "--entity",
        "-e",
        metavar="NAME=ID[,ID...]",
        help="Ids of an entity; repeat it for each. Replaces that entity of --request.",
    ),
]
ContextValues = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        "-c",
        metavar="NAME=VALUE",
        help="A value for all targets; repeat it for each. Replaces that value of --request.",
    ),
]


def is_given(file: str | None, entities: list[str] | None, context: list[str] | None) -> bool:
    return bool(file or entities or context)


def request_of(
    config_id: str, file: str | None, entities: list[str] | None, context: list[str] | None
) -> ScoreRequest:
    """The request that the options describe."""
    from inferflow.engine.request import request_from

    document = _document(file) if file else {}
    if entities:
        document["entities"] = {**document.get("entities", {}), **_ids(entities)}
    if context:
        given = {name: value_of(text) for name, text in named(context, "--context").items()}
        document["context"] = {**document.get("context", {}), **given}
    return request_from(document, config_id=config_id)


def pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    """`name=value` texts, taken apart."""
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        found.append((name, value))
    return found


def named(texts: Iterable[str], option: str) -> dict[str, str]:
    """The same by name, each of which may be given once."""
    found: dict[str, str] = {}
    for name, value in pairs(texts, option):
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


def value_of(text: str) -> Any:
    """A JSON value when the text is one (13, true, [1, 2], "7"), else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _document(file: str) -> dict[str, Any]:
    from inferflow.errors import InvalidRequest
    from inferflow.plan.document import parse_document, read_document

    if file == "-":
        document = parse_document(sys.stdin.read(), name="stdin", is_json=True)
    else:
        document = read_document(Path(file))
    if not isinstance(document, dict):
        raise InvalidRequest("request", "an object is wanted")
    return document


def _ids(texts: list[str]) -> dict[str, Any]:
    """One id stays one id, so that it stands for every target; several are a list."""
    found: dict[str, list[str]] = {}
    for name, value in pairs(texts, "--entity"):
        found.setdefault(name, []).extend(value.split(","))
    return {name: ids if len(ids) > 1 else ids[0] for name, ids in found.items()}
