"""Requests and answers of the Predict calls as JSON: plain numbers and names instead of bytes.

Values go column by column, never cell by cell: a column of an answer becomes a list at once, and
rows are only zipped together at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson

from inferflow.api.gateway.numbers import listed_floats
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.errors import InvalidRequest
from inferflow.scores import ScoreColumn, Scores, Table

_GROUPS = ("pairs", "slates")


def read_request(body: bytes, config_id: str, kind: str) -> ScoreRequest:
    """The request for targets, pairs or slates. Raises InvalidRequest naming the field."""
    return checked(request_from(parsed(body), config_id=config_id), kind)


def parsed(body: bytes | str) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        raise InvalidRequest("body", f"is no JSON: {wrong}") from None


def checked(request: ScoreRequest, kind: str) -> ScoreRequest:
    for name in _GROUPS:
        given = getattr(request, name)
        if given is None and name == kind:
            raise InvalidRequest(name, "is required here")
        if given is not None and name != kind:
            raise InvalidRequest(
                name, f"does not belong to a request for {kind}", f"ask /v1/score/ID/{name}"
            )
    return request


def written(scores: Scores, tracking_id: str) -> bytes:
    """The answer as JSON text."""
    return orjson.dumps(answer(scores, tracking_id))


def answer(scores: Scores, tracking_id: str) -> dict[str, Any]:
    """The answer as plain values."""
    document: dict[str, Any] = {
        "model_config_id": scores.config_id,
        "arm": scores.arm or None,
        "tracking_id": tracking_id,
        "config_version": scores.config_version,
        "columns": list((scores.groups or scores.targets).columns),
        "request_error": _request_error(scores),
        "recording": scores.recording or None,
    }
    if scores.groups is None or scores.targets.columns:
        document["targets"] = _targets(scores)
    if scores.grouping is not None and scores.groups is not None:
        document[scores.grouping] = _grouped(scores, scores.groups)
    return document


def _targets(scores: Scores) -> list[dict[str, Any]]:
    return [
        {"id": each, "rank": rank, "scores": row, "error": error or None}
        for each, rank, row, error in zip(
            scores.ids,
            _ranks(scores),
            _rows(scores.targets, len(scores.ids)),
            scores.targets.errors,
            strict=True,
        )
    ]


def _grouped(scores: Scores, groups: Table) -> list[dict[str, Any]]:
    ids, members = scores.ids, scores.members
    about: Iterable[dict[str, Any]]
    if scores.grouping == "pairs":
        about = ({"first": ids[one], "second": ids[other]} for one, other in members)
    else:
        about = ({"targets": [ids[row] for row in rows]} for rows in members)
    rows = _rows(groups, len(members))
    return [
        {"index": index, **named, "scores": row, "error": error or None}
        for index, (named, row, error) in enumerate(zip(about, rows, groups.errors, strict=True))
    ]


def _rows(table: Table, count: int) -> Iterable[dict[str, Any]]:
    if not table.columns:
        return ({} for _ in range(count))
    names = tuple(table.columns)
    listed = [plain_values(column) for column in table.columns.values()]
    return (dict(zip(names, row, strict=True)) for row in zip(*listed, strict=True))


def _ranks(scores: Scores) -> list[int]:
    """By the last column that is a number, as everywhere; in the request's order without one."""
    ranks = [0] * len(scores.ids)
    for rank, row in enumerate(scores.ranked(), start=1):
        ranks[row] = rank
    return ranks


def plain_values(column: ScoreColumn) -> list[Any]:
    """One value per row, None where there is none."""
    values = column.values
    if values.dtype.kind in "iubO":
        return column.to_list()
    told = listed_floats(values)
    if column.blank is not None:
        for row in np.flatnonzero(column.blank):
            told[row] = None
    return told


def _request_error(scores: Scores) -> str | None:
    """What failed the request as a whole: then no row has a value, and all have this error."""
    tables = [table for table in (scores.targets, scores.groups) if table is not None]
    errors = [error for table in tables for error in table.errors]
    if any(table.columns for table in tables) or not errors:
        return None
    return errors[0] or None
