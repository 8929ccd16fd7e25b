"""Expressions that are evaluated elsewhere, in parts: what a failed part costs, and what not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.assemble import Ports
from inferflow.components.cache import FeatureCache
from inferflow.components.parts import batches, between, joined
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.dtypes import DType
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Array, Computed, PreparedCompute
from inferflow.errors import ComputeFailed, StepFailed, Unreachable
from inferflow.scores import Scores

from ..engine.worlds import World, row_model
from ..engine.writing import compute_step, config, model_step, request


class FarCompute:
    """Computes two rows at a time, together; a part that holds a 13 fails."""

    is_local = False
    endpoint = "elsewhere"

    def __init__(self, world: World, failure: Exception) -> None:
        self._own = EmbeddedCompute(ExpressionBook(world.expressions))
        self._failure = failure
        self.under_way = self.most = 0

    def prepare(
        self, compute_id: str, variables: tuple[str, ...], *, precision: DType, strict: bool
    ) -> _Far:
        own = self._own.prepare(compute_id, variables, precision=precision, strict=strict)
        return _Far(self, own, self._failure, None if own.expression.cross_row else 2)


class _Far:
    def __init__(
        self, home: FarCompute, own: PreparedCompute, failure: Exception, size: int | None
    ) -> None:
        self._home, self._own, self._failure = home, own, failure
        self.batch_size = size

    async def run(self, columns: Sequence[Array], rows: int, *, deadline: Deadline) -> Computed:
        home = self._home
        home.under_way += 1
        home.most = max(home.most, home.under_way)
        await asyncio.sleep(0)
        home.under_way -= 1
        if any(13 in column for column in columns):
            raise self._failure
        return await self._own.run(columns, rows, deadline=deadline)


AWAY = Unreachable("elsewhere", 1, "refused")


class Far(World):
    """A world whose expressions are computed elsewhere."""

    def __init__(self, failure: Exception = AWAY) -> None:
        super().__init__(expressions={"double": "a * 2", "half": "1 / a", "rank": "rank(a)"})
        self.models["same"] = row_model(lambda x: [x])
        self.compute = FarCompute(self, failure)

    def ports(self, cache: FeatureCache | None = None) -> Ports:
        return replace(super().ports(cache), compute=self.compute)

    def score(self, compute_id: str, values: list[float], **more: Any) -> Scores:
        slates = more.pop("slates", None)
        step = compute_step(compute_id, {"a@FP32": "a"}, **more)
        models = {"m": model_step("same", {"a": "FP32"})}  # a plan needs a model
        scorer = self.scorer(config(["c:value"], models=models, computes={"c": step}))
        asked = request(
            entities={"product": [str(number) for number in range(len(values))]},
            features={"product": {"a": values}},
            **({} if slates is None else {"slates": slates}),
        )
        return asyncio.run(scorer.score(asked))


def values(scores: Scores) -> list[Any]:
    return scores.targets.columns["c:value"].to_list()


def test_a_batch_that_fails_blanks_its_own_rows() -> None:
    scores = Far().score("double", [1, 2, 3, 13, 5])
    assert values(scores) == [2, 4, None, None, 10]
    assert [bool(error) for error in scores.errors] == [False, False, True, True, False]
    assert scores.errors[2] == f"c: {AWAY}"


def test_rows_of_a_failed_batch_have_the_default_where_that_is_the_policy() -> None:
    scores = Far().score("half", [1, 2, 4, 13, 0], on_error="default", nan_default=7)
    assert values(scores) == [1, 0.5, 7, 7, None]
    assert [bool(error) for error in scores.errors] == [False, False, True, True, True]


@pytest.mark.parametrize("more", [{"on_error": "fail"}, {"domain_errors": "fail"}])
def test_a_failed_batch_is_everybodys_where_all_rows_or_none_are_wanted(
    more: dict[str, Any],
) -> None:
    far = Far(ComputeFailed("division by zero"))
    if "on_error" in more:
        with pytest.raises(StepFailed):
            far.score("double", [1, 2, 13], **more)
    else:
        assert values(far.score("double", [1, 2, 13], **more)) == [None] * 3


def test_when_every_batch_fails_the_step_does() -> None:
    scores = Far().score("double", [13, 13, 13])
    assert values(scores) == [None] * 3
    assert all("elsewhere" in error for error in scores.errors)


OVER_SLATES = {"slate_component": True, "slate_reduce": "mean"}
SLATES = [[0, 1], [1, 2, 0], [3, 0], [2, 1]]


def test_slates_are_under_way_together_and_one_that_fails_costs_itself() -> None:
    far = Far()
    scores = far.score("rank", [5, 7, 6, 13], slates=SLATES, **OVER_SLATES)
    assert scores.groups is not None
    assert scores.groups.columns["c:value"].to_list() == [1.5, 2, None, 1.5]
    assert [bool(error) for error in scores.groups.errors] == [False, False, True, False]
    assert far.compute.most == len(SLATES)


def test_a_batch_of_items_that_fails_costs_the_slates_it_reaches_into() -> None:
    far = Far()
    scores = far.score("double", [1, 2, 3, 13], slates=SLATES, **OVER_SLATES)
    assert scores.groups is not None
    # Items two by two: (0, 1), (1, 2), (0, 3), (0, 2), (1).
    assert scores.groups.columns["c:value"].to_list() == [3, None, None, 5]


# --- against the obvious --------------------------------------------------------------------

OUTCOMES = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["whole", "marked", "failed"])), min_size=1
)


@given(OUTCOMES)
def test_parts_are_put_together_as_row_by_row(outcomes: list[tuple[int, str]]) -> None:
    offsets = np.cumsum([0, *(size for size, _ in outcomes)])
    parts = between(offsets)
    found: list[Any] = []
    expected: list[tuple[float, bool, bool]] = []
    for part, (size, outcome) in zip(parts, outcomes, strict=True):
        numbers = np.arange(part.start, part.stop, dtype=np.float32)
        if outcome == "failed":
            found.append(AWAY)
            expected += [(0.0, False, True)] * size
            continue
        marks = numbers % 2 == 0 if outcome == "marked" else None
        found.append(Computed(numbers, marks, "" if marks is None else "even"))
        is_marked = [False] * size if marks is None else marks.tolist()
        expected += [(n, m, False) for n, m in zip(numbers.tolist(), is_marked, strict=True)]
    if all(outcome == "failed" for _, outcome in outcomes):
        with pytest.raises(Unreachable):
            joined(parts, found)
        return
    answered = joined(parts, found)
    marks = answered.computed.invalid
    lost = [any(mask[row] for mask, _ in answered.lost) for row in range(len(expected))]
    told = [False] * len(expected) if marks is None else marks.tolist()
    assert list(zip(answered.computed.values.tolist(), told, lost, strict=True)) == expected


@given(st.integers(1, 50), st.none() | st.integers(1, 60))
def test_batches_are_all_rows_once_and_none_too_large(rows: int, size: int | None) -> None:
    parts = batches(rows, size)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
    assert all(part.stop - part.start <= (size or rows) for part in parts)
