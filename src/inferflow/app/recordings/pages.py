"""The documents of one process, as `api.operate` asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from inferflow.app.livebook import Book
from inferflow.app.recordings.documents import Facts, document, line
from inferflow.app.recordings.keeper import Keeper
from inferflow.app.reload_status import ConfigStatus
from inferflow.explanation.json_text import json_text

Statuses = Callable[[], Iterable[ConfigStatus]]


class LocalPages:
    def __init__(self, keeper: Keeper, statuses: Statuses, book: Callable[[], Book]) -> None:
        self._keeper = keeper
        self._statuses = statuses
        self._book = book

    async def recording(self, recording: str, item: str) -> str:
        return json_text(document(self._keeper.find(recording), item))

    async def recordings(self, last: int) -> str:
        return json_text([line(kept) for kept in self._keeper.latest(last)])

    async def configs(self, *, with_problems: bool) -> str:
        book = self._book()
        return json_text([_config(each, book, with_problems) for each in self._statuses()])


def _config(status: ConfigStatus, book: Book, with_problems: bool) -> Facts:
    facts = status.as_dict()
    live = book.splits.get(status.id)
    facts["split"] = (
        None if live is None else dict(zip(live.split.arms, live.split.shares, strict=True))
    )
    facts["errors"] = sum(problem.is_error for problem in status.problems)
    if not with_problems:
        del facts["problems"]
    return facts
