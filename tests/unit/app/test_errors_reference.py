"""The page of errors says what the code says."""

from __future__ import annotations

import inspect
from pathlib import Path

from inferflow import errors
from inferflow.app.errors_reference import kinds, page, table
from inferflow.errors import InferflowError

PAGE = Path(__file__).parents[3] / "docs/reference/errors.md"


def test_the_page_is_what_would_be_printed() -> None:
    written = PAGE.read_text("utf-8")
    assert page(written) == written, (
        "python -m inferflow.app.errors_reference docs/reference/errors.md"
    )


def test_every_error_has_a_row_that_means_something() -> None:
    rows = table().splitlines()[2:]
    assert len(rows) == len(list(kinds()))
    assert all(row.split(" | ")[-1].strip(" |") for row in rows)


def test_every_error_that_can_be_imported_has_a_row() -> None:
    every = {kind for kind in vars(errors).values() if inspect.isclass(kind)}
    raised = {kind for kind in every if issubclass(kind, InferflowError)}
    assert {*kinds(), InferflowError} == raised
