"""A/B: one id, several configs, the same one for the same user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.checking import check_file, check_project
from inferflow.app.flow import Flow
from inferflow.app.reload import Reloader
from inferflow.app.watching import open_reloading
from inferflow.errors import PlanRejected

USERS = [f"user-{n}" for n in range(2000)]


@pytest.fixture
def shop(echo: Path) -> Path:
    """Two configs, `plus` and `minus`, behind `home`: 80 to 20."""
    written = json.loads((echo / "configs/echo.json").read_text())
    for name in ("plus", "minus"):
        step = written["component_config"]["numerix_component_config"]["echo"]
        step["compute_id"] = name
        (echo / "configs" / f"{name}.json").write_text(json.dumps(written))
    (echo / "configs/echo.json").unlink()
    (echo / "expressions.yaml").write_text("plus: x + 10\nminus: x - 10\n")
    split(echo, plus=80, minus=20)
    return echo


def split(root: Path, **arms: float) -> None:
    (root / "configs/home.json").write_text(json.dumps({"home": {"ab": arms}}))


@pytest.fixture
def opened(shop: Path) -> Iterator[tuple[Flow, Reloader]]:
    embedded, reloader = open_reloading(shop, {"feature_backend": "memory"})
    with Flow(embedded) as flow:
        yield flow, reloader


@pytest.fixture
def flow(opened: tuple[Flow, Reloader]) -> Flow:
    return opened[0]


def request(user: str, **more: Any) -> dict[str, Any]:
    return {
        "model_config_id": "home",
        "user_id": user,
        "entities": {"item": ["1"]},
        "context": {"name": "ann"},
        "features": {"item": {"x": [0]}},
        **more,
    }


def arms(flow: Flow) -> dict[str, str]:
    return {user: flow.answer(request(user)).arm for user in USERS}


def test_the_answer_goes_by_the_id_asked_for_and_names_its_arm(flow: Flow) -> None:
    for user in USERS[:50]:
        answer = flow.answer(request(user))
        assert answer.config_id == "home"
        assert answer["echo:score"].tolist() == [{"plus": 10, "minus": -10}[answer.arm]]
        assert answer.to_dict()["arm"] == answer.arm
    assert "arm" not in flow.answer({**request("a"), "model_config_id": "plus"}).to_dict()


def test_a_recording_names_the_arm_too(flow: Flow) -> None:
    scores, recording = flow.record(request("ann"))
    assert recording.arm == scores.arm == recording.plan.config_id


def test_a_user_meets_the_same_arm_however_the_request_tells_who_it_is(flow: Flow) -> None:
    for user in (*USERS[:50], "7"):
        arm = flow.answer(request(user)).arm
        for fields in (
            request("", entities={"item": ["1"], "user": user}),
            request("", entities={"item": ["1", "2"], "user_id": [user]}, features={}),
            request("", context={"name": "ann", "user": user}),
            request("", tracking_id=user),
        ):
            asked = {**fields, "features": {"item": {"x": 0}}}
            assert flow.answer(asked).arm == arm
    seven = request("", entities={"item": ["1"], "user": 7})
    assert flow.answer(seven).arm == flow.answer(request("7")).arm


def test_users_meet_the_arms_in_their_shares(flow: Flow) -> None:
    counts = Counter(arms(flow).values())
    assert 1520 < counts["plus"] < 1680


def test_a_request_that_tells_nothing_is_answered_by_either(flow: Flow) -> None:
    assert {flow.answer(request("")).arm for _ in range(200)} == {"plus", "minus"}


def test_moving_a_share_moves_those_users_and_no_other(
    shop: Path, opened: tuple[Flow, Reloader]
) -> None:
    flow, reloader = opened
    before = arms(flow)
    split(shop, plus=90, minus=10)
    assert reloader.check_now().changed == ("home",)
    after = arms(flow)
    moved = {(before[user], after[user]) for user in USERS if before[user] != after[user]}
    assert moved == {("minus", "plus")}


def test_ids_that_can_be_scored_include_splits(flow: Flow) -> None:
    assert set(flow.configs) == {"plus", "minus", "home"}


def test_a_split_with_an_unknown_arm_is_refused_and_its_last_good_one_serves(
    shop: Path, opened: tuple[Flow, Reloader]
) -> None:
    flow, reloader = opened
    before = arms(flow)
    split(shop, plus=20, minis=80)
    assert reloader.check_now().refused == ("home",)
    assert arms(flow) == before
    (found,) = [each for each in flow.validate() if each.problem.is_error]
    assert "closest: 'minus'" in str(found)


def test_a_split_keeps_an_arm_whose_config_is_deleted_or_broken(
    shop: Path, opened: tuple[Flow, Reloader]
) -> None:
    flow, reloader = opened
    before = arms(flow)
    (shop / "configs/minus.json").unlink()
    reload = reloader.check_now()
    assert (reload.removed, reload.refused) == (("minus",), ("home",))
    assert arms(flow) == before


def test_an_arm_is_served_as_it_is_now(shop: Path, opened: tuple[Flow, Reloader]) -> None:
    flow, reloader = opened
    (shop / "expressions.yaml").write_text("plus: x + 20\nminus: x - 10\n")
    assert set(reloader.check_now().changed) == {"plus", "home"}
    user = next(user for user, arm in arms(flow).items() if arm == "plus")
    assert flow.answer(request(user))["echo:score"].tolist() == [20]


def test_the_last_good_split_survives_a_restart(shop: Path) -> None:
    embedded, _ = open_reloading(shop, {"feature_backend": "memory"})
    with Flow(embedded) as flow:
        before = arms(flow)
    split(shop, plus=20, minis=80)
    embedded, reloader = open_reloading(shop, {"feature_backend": "memory"})
    with Flow(embedded) as flow:
        assert arms(flow) == before
        states = {each.id: each.state for each in reloader.status()}
        assert states == {"home": "last good", "plus": "serving", "minus": "serving"}


def test_a_split_over_a_config_that_never_served_is_refused(shop: Path) -> None:
    (shop / "configs/minus.json").write_text('{"response_config": {}}')
    embedded, _ = open_reloading(shop, {"feature_backend": "memory"})
    with Flow(embedded) as flow, pytest.raises(PlanRejected, match="this config cannot serve"):
        flow.answer(request("ann"))


def test_validate_knows_the_other_configs_when_it_looks_at_a_split_alone(shop: Path) -> None:
    assert not [each for each in check_project(shop) if each.problem.is_error]
    assert check_file(shop / "configs/home.json", shop) == []
    split(shop, plus=20, minis=80)
    (found,) = check_file(shop / "configs/home.json", shop)
    assert "there is no such config" in str(found)
