"""The reference page and the documents cannot drift apart."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import get_args

from inferflow.api.insight import Explain
from inferflow.app.recordings.documents import document, line
from inferflow.app.recordings.keeper import Keeper, Room
from inferflow.app.recordings.kept import Why
from inferflow.app.recordings.pages import LocalPages
from inferflow.app.reload_status import ConfigStatus, State
from inferflow.app.serve_settings import ServeSettings
from inferflow.plan.book import PlanBook
from inferflow.telemetry.calls import Call

from .conftest import MakeScorer, ask

PAGE = (Path(__file__).parents[4] / "docs/reference/recordings.md").read_text("utf-8")
STATUS = ConfigStatus("a", "a.yaml", "serving", 1, "", "", 0)


def fields(title: str) -> list[set[str]]:
    """The names in the first column of each table of a section."""
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    tables = re.findall(r"(?:^\|.*\n)+", found[1], re.MULTILINE)
    return [
        {
            name
            for row in table.splitlines()[2:]
            for name in re.findall("`(.+?)`", row.split("|")[1])
        }
        for table in tables
    ]


def test_every_field_of_a_recording_is_on_the_page(make_scorer: MakeScorer) -> None:
    scorer, keeper = make_scorer(), Keeper()
    recording = scorer.new_recording()
    scores = scorer.score_now(ask("1", "9"), recording)
    kept = keeper.find(keeper.keep(Call("r1"), recording, scores, ""))
    whole = document(kept, "9")
    listed, more = fields("A recording")
    assert listed == set(line(kept))
    assert more == set(whole) - set(line(kept))
    inside = set(whole["run"]) | set().union(*whole["run"]["steps"])
    inside |= set(whole["item"]) | set(whole["item"]["rows"][0])
    inside |= set().union(*whole["item"]["rows"][0]["columns"])
    assert {name for name in inside if f"`{name}`" not in PAGE} == set()


def test_every_field_of_a_config_is_on_the_page() -> None:
    pages = LocalPages(Keeper(), lambda: [STATUS], PlanBook)
    [config] = json.loads(asyncio.run(pages.configs(with_problems=True)))
    [named] = fields("A config")
    assert set(config) == named - set(get_args(State)) - {"push", "rollback", "edit"}


def test_what_is_kept_and_who_may_look_is_told_as_it_is() -> None:
    assert fields("What is kept") == [set(get_args(Why))]
    assert fields("Who may look") == [set(get_args(Explain))]
    assert set(get_args(ServeSettings.model_fields["explain"].annotation)) == set(get_args(Explain))
    room = Room()
    for count in (room.recordings, room.failed, room.slow):
        assert re.search(rf"\b{count}\b", PAGE)
    assert room.window_s == 5 * 60
    assert room.recorded_bytes == ServeSettings().recordings_mb * 1024 * 1024
