"""The page about Python and the code cannot drift apart."""

from __future__ import annotations

import inferflow

from ..python_reference import CLASSES, FUNCTIONS, PAGE, page


def test_the_page_is_what_would_be_printed() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.python_reference"


def test_every_public_name_is_on_it() -> None:
    told = {*FUNCTIONS, *(kind.__name__ for kind in CLASSES), "InferflowError", "__version__"}
    assert set(inferflow.__all__) <= told
