"""A config's golden requests, scored on a bench: nothing is opened anew, loaded or written.

A push asks the same requests once more, for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferflow.app.backoffice.bench import Bench
from inferflow.app.golden import Outcome, run_requests
from inferflow.app.livebook import Book, open_book
from inferflow.app.publish import expecting
from inferflow.client.background import SHARED
from inferflow.components.routing import pick
from inferflow.engine.asking import Asking
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.plan.compiler import Compiled
from inferflow.scores import Scores


def tried(bench: Bench, compiled: Compiled) -> list[Outcome]:
    """How a config that compiles answers the requests that expect something of it."""
    requests = expecting(bench.project, compiled.config_id)
    if not requests:
        return []
    candidates = {compiled.config_id: compiled}
    for arm in compiled.split.arms if compiled.split is not None else ():
        candidates[arm] = bench.compiled(arm, bench.written(arm).content)
    book = open_book(candidates, bench.ports, bench.settings.limits)
    SHARED.hold()  # for models on other hosts, whose connections belong to a loop
    try:
        return run_requests(_Answers(book), requests)
    finally:
        SHARED.release()


class _Answers(Asking[Scores]):
    def __init__(self, book: Book) -> None:
        self._book = book

    def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Scores:
        asked = request if isinstance(request, ScoreRequest) else request_from(request)
        scorer, _ = pick(self._book, asked)
        return scorer.score_now(asked) if scorer.is_local else SHARED.run(scorer.score(asked))
