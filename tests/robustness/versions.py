"""A project whose config has many versions, each of which shows in every part of an answer.

Version n names its score column after itself and adds 1000 n to a number that each book has, so an
answer put together from two versions, or from two requests, gives itself away.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from inferflow.app.scaffold import write_starter

MOST = 1000
"""So many versions there can be."""
COLUMN = "pick:score"


class Versions:
    """The project; `put` and `remove` change its one config, as an editor does."""

    def __init__(self, folder: Path) -> None:
        write_starter(folder)
        self.folder = folder
        self._file = folder / "configs" / "ranker.yaml"
        self._text = self._file.read_text()
        named = (f'v{n}: "{1000 * n} + years_old + 0 * (like + likes_new)"' for n in range(MOST))
        (folder / "expressions.yaml").write_text("\n".join(named))
        for golden in (folder / "requests").iterdir():
            golden.unlink()
        # A server without any config is not ready, which callers are told instead of "not found".
        beside = self._version(0).replace("ranker:", "beside:", 1)
        self._file.with_name("beside.yaml").write_text(beside)
        self.put(0)

    def put(self, number: int) -> None:
        self._write(self._version(number))

    def _version(self, number: int) -> str:
        text = self._text.replace("compute_id: pick", f"compute_id: v{number}")
        text = text.replace("score_column: score", f"score_column: score{number}")
        return text.replace(f"- {COLUMN}", f"- {COLUMN}{number}")

    def put_a_bad_one(self) -> None:
        self._write(self._text.replace("compute_id: pick", "compute_id: nothing_of_this_name"))

    def remove(self) -> None:
        self._file.unlink()

    def _write(self, text: str) -> None:
        fresh = self._file.with_suffix(".fresh")
        fresh.write_text(text)
        os.replace(fresh, self._file)

    def worth(self) -> Mapping[str, float]:
        """The number of each book."""
        rows = (self.folder / "features" / "book.facts.csv").read_text().splitlines()[1:]
        return {row.split(",")[0]: float(row.rsplit(",", 1)[1]) for row in rows}
