"""Which arm answers: by who asks, always the same, in the shares the config gives."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.routing import bucket, choose_arm
from inferflow.engine.scorer import Scorer
from inferflow.plan.plan import Routes

from ...robustness.scenario import StartScenario
from ..engine.worlds import World, row_model
from ..engine.writing import config, model_step, request

KEYS = [f"user-{n}" for n in range(10_000)]


def world_of_versions() -> World:
    world = World()
    for version in range(1, 51):
        model = row_model(lambda _, answer=float(version): [[answer]])
        model.version = str(version)
        world.models[f"m@{version}"] = model
    return world


def split(shares: dict[str, float], **more: Any) -> dict[str, Any]:
    endpoints = {f"local:m@{version}": share for version, share in shares.items()}
    return model_step("m", {"hour": "FP32"}, model_end_points=endpoints, **more)


def scorer_of(step: dict[str, Any], *, config_id: str = "config", new_id: Any = None) -> Scorer:
    return world_of_versions().scorer(
        config(["a:score", "b:score"], models={"a": step, "b": step}),
        config_id=config_id,
        new_id=new_id or (lambda: "chance"),
    )


def versions(scorer: Scorer, **parts: Any) -> tuple[int, int]:
    scores = scorer.score_now(request(context={"hour": 1, **parts.pop("context", {})}, **parts))
    return int(scores["a:score"][0]), int(scores["b:score"][0])


# --- the choice itself --------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [[50, 50], [80, 20], [1, 99], [33, 33, 34], [0.5, 99.5]])
def test_ten_thousand_keys_split_as_the_shares_say(
    shares: list[float], scenario: StartScenario
) -> None:
    tried = scenario("D6", "traffic split over healthy endpoints, ten thousand keys")
    bounds = tuple(sum(shares[: i + 1]) for i in range(len(shares)))
    chosen = Counter(choose_arm(Routes(bounds, "config"), key) for key in KEYS)
    for arm, share in enumerate(shares):
        tried.at_most("off its share", abs(chosen[arm] / 100 - share), 2, " %")


def test_what_the_shares_leave_goes_to_the_last_arm() -> None:
    chosen = Counter(choose_arm(Routes((20.0, 20.0), "config"), key) for key in KEYS)
    assert chosen[1] / 100 == pytest.approx(80, abs=2)


@given(st.text(st.characters(exclude_categories=[])), st.text())
def test_every_key_has_one_place_for_ever(key: str, salt: str) -> None:
    place = bucket(key, salt)
    assert 0 <= place < 100
    assert bucket(key, salt) == place


def test_the_places_of_known_keys_do_not_move_between_releases() -> None:
    assert bucket("user-1", "ranker") == pytest.approx(85.8238035818357)
    assert bucket("user-2", "ranker") == pytest.approx(29.97410815036361)


def test_two_configs_split_the_same_users_differently() -> None:
    halves = [
        {key for key in KEYS if choose_arm(Routes((50.0, 100.0), salt), key) == 0}
        for salt in ("ranker", "ranker2")
    ]
    both = len(halves[0] & halves[1])
    assert both / len(KEYS) == pytest.approx(0.25, abs=0.02)


# --- who asks -----------------------------------------------------------------------------------


@pytest.fixture
def scorer() -> Scorer:
    return scorer_of(split({"1": 50, "2": 50}))


def test_a_user_meets_the_same_arm_in_every_step_and_every_request(scorer: Scorer) -> None:
    seen = set()
    for number in range(40):
        first = versions(scorer, user_id=f"u{number}")
        assert first[0] == first[1]
        assert versions(scorer, user_id=f"u{number}", tracking_id="other") == first
        seen.add(first)
    assert seen == {(1, 1), (2, 2)}


@pytest.mark.parametrize(
    "parts",
    [
        {"user_id": "u7"},
        {"entities": {"user_id": "u7", "product": ["1", "2"]}},
        {"entities": {"user": "u7", "product": ["1", "2"]}},
        {"context": {"user_id": "u7"}},
        {"context": {"user": "u7"}},
        {"tracking_id": "u7"},
        {"entities": {"user": ["a", "b"]}, "tracking_id": "u7"},
        {"context": {"user_id": ""}, "tracking_id": "u7"},
        {"context": {"user_id": None}, "tracking_id": "u7"},
        {"user_id": "u7", "entities": {"user": "other"}, "tracking_id": "other"},
        {"entities": {"user": "u7"}, "tracking_id": "other"},
    ],
)
def test_the_key_is_the_user_else_the_tracking_id(parts: dict[str, Any]) -> None:
    """Fifty arms, so that another key would be seen."""
    scorer = scorer_of(split({str(version): 2 for version in range(1, 51)}))
    routes = Routes(tuple(2.0 * n for n in range(1, 51)), "config")
    arm = choose_arm(routes, "u7")
    assert arm not in {choose_arm(routes, key) for key in ("other", "a", "", "None", "chance")}
    assert versions(scorer, **parts) == (arm + 1, arm + 1)


def test_seven_is_one_user_however_it_is_written(scorer: Scorer) -> None:
    arms = {versions(scorer, context={"user_id": value}) for value in (7, 7.0, "7")}
    assert len(arms) == 1


def test_without_any_key_chance_decides_not_the_hash_of_nothing() -> None:
    ids = iter(f"chance-{n}" for n in range(1000))
    scorer = scorer_of(split({"1": 50, "2": 50}), new_id=lambda: next(ids))
    seen = Counter(versions(scorer)[0] for _ in range(200))
    assert 60 < seen[1] < 140


def test_half_a_surrogate_in_a_key_is_no_error(scorer: Scorer) -> None:
    assert versions(scorer, user_id="\ud800") == versions(scorer, user_id="\ud800")


def test_shares_below_a_hundred_leave_the_rest_to_the_endpoint() -> None:
    step = split({"1": 30}, model_endpoint="local:m@2")
    scorer = scorer_of(step)
    seen = Counter(versions(scorer, user_id=key)[0] for key in KEYS[:600])
    assert set(seen) == {1, 2}
    assert seen[1] / 6 == pytest.approx(30, abs=6)


def test_an_arm_without_a_share_is_never_chosen() -> None:
    scorer = scorer_of(split({"1": 100, "2": 0}))
    assert {versions(scorer, user_id=key) for key in KEYS[:200]} == {(1, 1)}


def test_the_recording_says_which_arm_answered(scorer: Scorer) -> None:
    recording = scorer.new_recording()
    scores = scorer.score_now(request(context={"hour": 1}, user_id="u1"), recording)
    version = int(scores["a:score"][0])
    assert recording.arms["a"] == f"m@{version}"
    assert recording.steps["a"].endpoint == f"local:m@{version}"
    assert recording.steps["a"].version == str(version)
