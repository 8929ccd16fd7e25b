"""How versions move between stages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput, NotFound, RegistryConflict
from inferflow.serving.manager.stages import (
    check_deletable,
    check_traffic,
    choices,
    moves,
    parse_stage,
)
from inferflow.serving.manager.storage.records import Model, Stage, Version

DEV, STAGING, PRODUCTION, ARCHIVED = Stage


def version(number: int, stage: Stage, problem: str = "") -> Version:
    return Version("m", number, stage, "", "", (), (), (), 0, "", problem=problem)


def model(*stages: Stage, traffic: dict[int, float] | None = None) -> Model:
    versions = tuple(version(number, stage) for number, stage in enumerate(stages, start=1))
    return Model("m", versions, traffic or {})


def test_a_new_production_version_archives_the_one_before() -> None:
    planned = moves(model(PRODUCTION, STAGING), 2, PRODUCTION, reason="better")
    told = [(move.number, move.from_stage, move.to_stage, move.reason) for move in planned]
    assert told == [
        (1, PRODUCTION, ARCHIVED, "replaced by version 2"),
        (2, STAGING, PRODUCTION, "better"),
    ]


def test_going_back_is_promoting_the_old_version_again() -> None:
    planned = moves(model(ARCHIVED, PRODUCTION), 1, PRODUCTION)
    assert [(move.number, move.to_stage) for move in planned] == [(2, ARCHIVED), (1, PRODUCTION)]


def test_asking_for_the_stage_a_version_has_moves_nothing() -> None:
    assert moves(model(PRODUCTION), 1, PRODUCTION) == ()


def test_an_expectation_that_does_not_hold_is_a_conflict() -> None:
    moves(model(DEV), 1, STAGING, expected=DEV)
    with pytest.raises(RegistryConflict, match="is in 'dev', not in 'staging'"):
        moves(model(DEV), 1, PRODUCTION, expected=STAGING)


@given(
    st.lists(st.sampled_from([DEV, STAGING, ARCHIVED]), min_size=1, max_size=4),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from(list(Stage))), max_size=12),
)
def test_there_is_never_more_than_one_version_in_production(
    stages: list[Stage], at: int, asked: list[tuple[int, Stage]]
) -> None:
    if at < len(stages):
        stages[at] = PRODUCTION
    for which, to in asked:
        number = which % len(stages) + 1
        before = list(stages)
        for move in moves(model(*stages), number, to):
            assert stages[move.number - 1] is move.from_stage
            stages[move.number - 1] = move.to_stage
            assert stages.count(PRODUCTION) <= 1
        assert stages[number - 1] is to
        changed = [n for n, (a, b) in enumerate(zip(before, stages, strict=True), 1) if a != b]
        assert set(changed) <= {number} | {before.index(s) + 1 for s in before if s is PRODUCTION}


def test_an_unknown_version_is_not_found() -> None:
    with pytest.raises(NotFound, match="did you mean 'm@2'"):
        moves(model(DEV, DEV), 3, STAGING)


def test_a_version_with_a_problem_does_not_reach_production() -> None:
    broken = replace(model(), versions=(version(1, STAGING, "its bytes changed"),))
    with pytest.raises(RegistryConflict, match="its bytes changed"):
        moves(broken, 1, PRODUCTION)
    with pytest.raises(RegistryConflict, match="its bytes changed"):
        check_traffic(broken, {1: 100})


def test_a_version_with_traffic_stays_where_it_is_served() -> None:
    split = model(PRODUCTION, STAGING, traffic={1: 90, 2: 10})
    with pytest.raises(RegistryConflict, match="10 % of the traffic"):
        moves(split, 2, ARCHIVED)
    with pytest.raises(RegistryConflict, match="10 % of the traffic"):
        check_deletable(split, 2)
    assert len(moves(split, 2, PRODUCTION)) == 2


@pytest.mark.parametrize(
    ("traffic", "problem"),
    [
        ({1: 50, 2: 49}, "make 99"),
        ({1: 0, 2: 100}, "above 0"),
        ({1: -5, 2: 105}, "above 0"),
        ({1: float("nan")}, "above 0"),
        ({1: 101}, "up to 100"),
    ],
)
def test_shares_that_do_not_add_up_are_refused(traffic: dict[int, float], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        check_traffic(model(PRODUCTION, STAGING), traffic)


def test_traffic_goes_to_staging_and_production_only() -> None:
    check_traffic(model(PRODUCTION, STAGING), {1: 99.9, 2: 0.1})
    check_traffic(model(PRODUCTION), {})
    for stage in (DEV, ARCHIVED):
        with pytest.raises(RegistryConflict, match=f"'{stage.value}'"):
            check_traffic(model(PRODUCTION, stage), {1: 50, 2: 50})
    with pytest.raises(NotFound):
        check_traffic(model(PRODUCTION), {2: 100})


def test_a_production_version_is_not_deleted() -> None:
    with pytest.raises(RegistryConflict, match="archive it first"):
        check_deletable(model(PRODUCTION), 1)
    assert check_deletable(model(PRODUCTION, DEV), 2).number == 2


def test_callers_are_sent_to_production_unless_they_ask_otherwise() -> None:
    full = model(ARCHIVED, PRODUCTION, STAGING, STAGING, DEV)
    assert choices(full, number=None, stage=None) == {2: 100}
    assert choices(full, number=None, stage=STAGING) == {4: 100}
    assert choices(full, number=5, stage=None) == {5: 100}
    assert choices(full, number=1, stage=None) == {1: 100}


def test_a_split_is_what_production_means_while_it_lasts() -> None:
    split = model(PRODUCTION, STAGING, traffic={1: 90, 2: 10})
    assert choices(split, number=None, stage=None) == {1: 90, 2: 10}
    assert choices(split, number=None, stage=STAGING) == {2: 100}


def test_a_stage_nobody_is_in_is_not_found() -> None:
    with pytest.raises(NotFound, match="version in production of model"):
        choices(model(DEV), number=None, stage=None)
    with pytest.raises(NotFound):
        choices(model(DEV), number=1, stage=PRODUCTION)


def test_stages_are_read_by_name() -> None:
    assert parse_stage("", default=DEV) is DEV
    assert parse_stage("production", default=DEV) is PRODUCTION
    with pytest.raises(InvalidInput, match="dev, staging, production, archived"):
        parse_stage("prod", default=DEV)
