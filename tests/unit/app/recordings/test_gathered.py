"""Several processes that are asked as if they were one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from inferflow.api.http import JSON, Reply
from inferflow.api.insight import insight
from inferflow.api.operate import Desk, operate_trees
from inferflow.app.recordings.gathered import GatheredPages
from inferflow.app.recordings.keeper import Keeper
from inferflow.app.recordings.pages import LocalPages
from inferflow.app.reload_status import ConfigStatus
from inferflow.errors import InvalidRequest, NotFound, Overloaded
from inferflow.plan.book import LiveSplit, PlanBook
from inferflow.plan.problems import Problem
from inferflow.plan.split import Split
from inferflow.telemetry.calls import Call

from .conftest import MakeScorer, ask

STATUS = ConfigStatus(
    "home",
    "configs/home.json",
    "serving",
    3,
    "ab",
    "",
    12,
    (Problem("ab", "is odd"),),
    "push",
    "me",
)


def local(keeper: Keeper) -> LocalPages:
    split = LiveSplit(Split("home", ("a", "b"), (30.0, 70.0), "home"), ())
    return LocalPages(keeper, lambda: [STATUS], lambda: PlanBook({}, {}, {"home": split}))


def gathered(*keepers: Keeper, silent: int = 0) -> GatheredPages:
    """Processes as they are asked: over their private HTTP, and some do not answer."""

    async def ask_all(target: str) -> Sequence[Reply | None]:
        replies: list[Reply | None] = [None] * silent
        for keeper in keepers:
            trees = operate_trees(Desk(local(keeper), insight("on")))
            tree = next(tree for path, tree in trees.items() if target.startswith(path))
            reply: Any = tree(target)
            replies.append(await reply)
        return replies

    return GatheredPages(ask_all)


def record(keeper: Keeper, make_scorer: MakeScorer) -> str:
    scorer = make_scorer()
    recording = scorer.new_recording()
    return keeper.keep(Call("r"), recording, scorer.score_now(ask("1 ä/&"), recording), "")


def test_a_recording_is_found_whichever_process_holds_it(make_scorer: MakeScorer) -> None:
    keepers = Keeper(), Keeper()
    pages = gathered(*keepers, silent=1)
    for keeper in keepers:
        kept = record(keeper, make_scorer)
        found = json.loads(asyncio.run(pages.recording(kept, "1 ä/&")))
        assert found["recording"] == kept
        assert found["item"]["item"] == "1 ä/&"


def test_what_no_process_holds_is_not_found_and_a_wrong_item_is_refused(
    make_scorer: MakeScorer,
) -> None:
    keeper = Keeper()
    pages = gathered(Keeper(), keeper)
    with pytest.raises(NotFound, match="no recording 'beef-1'"):
        asyncio.run(pages.recording("beef-1", ""))
    with pytest.raises(InvalidRequest, match="item: no target '7'"):
        asyncio.run(pages.recording(record(keeper, make_scorer), "7"))


def test_lists_are_merged_by_time_and_cut_afterwards(make_scorer: MakeScorer) -> None:
    now = [1.0]
    keepers = Keeper(now=lambda: now[0]), Keeper(now=lambda: now[0])
    order = []
    for number in (0, 1, 0, 1):
        now[0] += 1
        order.insert(0, record(keepers[number], make_scorer))
    pages = gathered(*keepers)
    listed = json.loads(asyncio.run(pages.recordings(0)))
    assert [each["recording"] for each in listed] == order
    listed = json.loads(asyncio.run(pages.recordings(3)))
    assert [each["recording"] for each in listed] == order[:3]


def test_configs_are_those_of_the_first_that_answers() -> None:
    [config] = json.loads(asyncio.run(gathered(Keeper(), silent=1).configs(with_problems=True)))
    assert config["split"] == {"a": 30.0, "b": 70.0}
    assert (config["version"], config["origin"], config["errors"]) == (3, "push", 1)
    assert config["problems"][0]["what"] == "is odd"


def test_or_ones_own_where_the_processes_do_not_know() -> None:
    async def nobody(target: str) -> Sequence[Reply | None]:
        return [Reply(b"[]", content_type=JSON)]

    pages = GatheredPages(nobody, local(Keeper()))
    [config] = json.loads(asyncio.run(pages.configs(with_problems=False)))
    assert config["id"] == "home"


def test_without_a_look_inside_only_the_number_of_errors_is_told() -> None:
    for pages in (local(Keeper()), gathered(Keeper())):
        [config] = json.loads(asyncio.run(pages.configs(with_problems=False)))
        assert config["errors"] == 1
        assert "problems" not in config


def test_when_no_process_answers_that_is_told() -> None:
    with pytest.raises(Overloaded):
        asyncio.run(gathered(silent=2).configs(with_problems=True))
