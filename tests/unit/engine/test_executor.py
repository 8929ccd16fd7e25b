"""When steps start, what their failures mean, and what happens to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from inferflow.engine.deadline import Deadline
from inferflow.engine.executor import execute_concurrently, execute_in_order
from inferflow.engine.run import Run
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    Fault,
    InvalidRequest,
    ModelFailed,
    StepFailed,
    StoreFailed,
)
from inferflow.plan.plan import InitStep, OnError, Step

from ...robustness.scenario import StartScenario
from .worlds import World, row_model
from .writing import config, feature_step, model_step, request

Work = Callable[[], Any]


class Part:
    """A component that notes when it starts and ends."""

    def __init__(self, step: Step, diary: list[str], *, is_local: bool, work: Work | None) -> None:
        self.step = step
        self.is_local = is_local
        self._diary = diary
        self._work = work

    async def run(self, run: Run) -> None:
        self._diary.append(f"{self.step.name} starts")
        try:
            if self._work is not None:
                waiting = self._work()
                if waiting is not None:
                    await waiting
        finally:
            self._diary.append(f"{self.step.name} ends")

    def fill_defaults(self, run: Run) -> None:
        self._diary.append(f"{self.step.name} defaults")

    def leave_blank(self, run: Run) -> None:
        self._diary.append(f"{self.step.name} blank")


@pytest.fixture
def diary() -> list[str]:
    return []


def steps(feeds: dict[str, list[str]], on_error: dict[str, OnError] | None = None) -> list[Step]:
    """Steps in the order written; `a: [b]` feeds b from a."""
    names = list(feeds)
    return [
        InitStep(
            name,
            index=i,
            level=0,
            needs=tuple(names.index(p) for p in names if name in feeds[p]),
            feeds=tuple(names.index(child) for child in feeds[name]),
            on_error=(on_error or {}).get(name, "skip"),
            timeout_ms=None,
            writes=(),
            reads=(),
        )
        for i, name in enumerate(names)
    ]


def a_run(deadline: Deadline | None = None) -> Run:
    world = World().table("product", "attrs", {"price": "FP32"}, {})
    step = feature_step("product", {"product_id": "product_id"}, {"attrs": ["price"]})
    plan = world.plan(config(["product:attrs:price"], features={"fs": step}))
    return Run(
        plan,
        request(),
        binding=None,  # type: ignore[arg-type]  # these components bind nothing
        entities={"product": ["1", "2"]},
        ids=["1", "2"],
        slates=None,
        routing_key="",
        deadline=deadline or Deadline(None),
        recording=None,
        records=None,
    )


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def waits(count: int) -> Work:
    return lambda: turns(count)


def raises(error: Exception) -> Work:
    def work() -> None:
        raise error

    return work


def test_local_steps_run_in_order_without_a_loop(diary: list[str]) -> None:
    parts = [
        Part(step, diary, is_local=True, work=None)
        for step in steps({"a": ["b", "c"], "b": [], "c": []})
    ]
    coroutine = execute_in_order(parts, a_run())
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert diary == ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]


def test_a_step_starts_when_its_own_needs_have_ended(diary: list[str]) -> None:
    """`after_quick` does not wait for `slow`, which is on the level above it too."""
    graph = steps({"quick": ["after_quick"], "slow": ["after_slow"], "after_quick": [],
                   "after_slow": []})  # fmt: skip
    work = {"quick": waits(1), "slow": waits(20), "after_quick": waits(1), "after_slow": waits(1)}
    parts = [Part(step, diary, is_local=False, work=work[step.name]) for step in graph]
    asyncio.run(execute_concurrently(parts, a_run()))
    assert diary.index("after_quick ends") < diary.index("slow ends")
    assert diary.index("slow ends") < diary.index("after_slow starts")


def test_a_step_with_several_needs_waits_for_all_of_them(diary: list[str]) -> None:
    graph = steps({"a": ["c"], "b": ["c"], "c": []})
    work = {"a": waits(1), "b": waits(9), "c": waits(1)}
    parts = [Part(step, diary, is_local=False, work=work[step.name]) for step in graph]
    asyncio.run(execute_concurrently(parts, a_run()))
    assert diary[-2:] == ["c starts", "c ends"]


def test_calls_to_others_are_on_their_way_before_local_work_begins(diary: list[str]) -> None:
    graph = steps({"local": [], "remote": []})
    parts = [
        Part(graph[0], diary, is_local=True, work=None),
        Part(graph[1], diary, is_local=False, work=waits(3)),
    ]
    asyncio.run(execute_concurrently(parts, a_run()))
    assert diary.index("remote starts") < diary.index("local starts")
    assert diary.index("local ends") < diary.index("remote ends")


def test_when_a_step_fails_the_request_the_others_are_cancelled(diary: list[str]) -> None:
    graph = steps({"bad": [], "long": ["never"], "never": []}, {"bad": "fail"})
    cancelled = []

    async def long() -> None:
        try:
            await turns(1000)
        except asyncio.CancelledError:
            cancelled.append("long")
            raise

    work: dict[str, Work] = {
        "bad": raises(ModelFailed("m", "broke")),
        "long": long,
        "never": waits(1),
    }
    parts = [Part(step, diary, is_local=False, work=work[step.name]) for step in graph]

    async def main() -> None:
        with pytest.raises(StepFailed) as failed:
            await execute_concurrently(parts, a_run())
        assert failed.value.step == "bad"
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert cancelled == ["long"]
    assert "never starts" not in diary


def test_cancelling_a_request_cancels_its_steps(diary: list[str], scenario: StartScenario) -> None:
    tried = scenario("D9", "a request is given up while two steps run")
    graph = steps({"a": [], "b": []})
    parts = [Part(step, diary, is_local=False, work=waits(10_000)) for step in graph]

    async def main() -> None:
        task = asyncio.ensure_future(execute_concurrently(parts, a_run()))
        await turns(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        tried.at_most("tasks left", len(asyncio.all_tasks()) - 1, 0)

    asyncio.run(main())
    assert sorted(diary) == ["a ends", "a starts", "b ends", "b starts"]


def test_a_step_that_ignores_the_deadline_is_cut_off(diary: list[str]) -> None:
    graph = steps({"deaf": [], "quick": []}, {"deaf": "default"})
    deaf = Part(graph[0], diary, is_local=False, work=lambda: asyncio.Event().wait())
    quick = Part(graph[1], diary, is_local=False, work=waits(1))
    with pytest.raises(DeadlinePassed):
        asyncio.run(execute_concurrently([deaf, quick], a_run(Deadline(20))))
    assert "deaf ends" in diary
    assert "deaf defaults" not in diary


# --- what a failure means -----------------------------------------------------------------------


def outcome(policy: OnError, error: Exception, diary: list[str]) -> Run:
    run = a_run()
    [step] = steps({"s": []}, {"s": policy})
    asyncio.run(execute_concurrently([Part(step, diary, is_local=False, work=raises(error))], run))
    return run


def test_default_fills_defaults_and_marks_every_row(diary: list[str]) -> None:
    run = outcome("default", StoreFailed("down"), diary)
    assert diary[-1] == "s defaults"
    assert run.errors() == ["s: down", "s: down"]


def test_skip_leaves_rows_blank_and_marks_them(diary: list[str]) -> None:
    run = outcome("skip", ModelFailed("m", "broke"), diary)
    assert diary[-1] == "s blank"
    assert run.errors() == ["s: model 'm' failed: broke"] * 2


@pytest.mark.parametrize(
    ("cause", "fault"),
    [
        (StoreFailed("down"), Fault.OURS),
        (DeadlinePassed("the store", 5), Fault.LATE),
        (ZeroDivisionError("oops"), Fault.OURS),
    ],
)
def test_fail_fails_the_request_and_says_which_step_and_why(
    cause: Exception, fault: Fault, diary: list[str]
) -> None:
    with pytest.raises(StepFailed) as failed:
        outcome("fail", cause, diary)
    assert failed.value.step == "s"
    assert failed.value.fault is fault
    assert failed.value.elapsed_ms > 0
    assert str(cause) in str(failed.value)


def test_an_error_nobody_foresaw_is_still_the_step_s_own(diary: list[str]) -> None:
    run = outcome("skip", ZeroDivisionError("oops"), diary)
    assert run.errors() == ["s: ZeroDivisionError: oops"] * 2


@pytest.mark.parametrize("error", [InvalidRequest("context.x", "is wrong"), EngineFault("a bug")])
@pytest.mark.parametrize("policy", ["default", "skip", "fail"])
def test_no_policy_hides_a_wrong_request_or_a_bug(
    error: Exception, policy: OnError, diary: list[str]
) -> None:
    with pytest.raises(type(error)) as raised:
        outcome(policy, error, diary)
    assert raised.value is error


def test_errors_of_several_steps_add_up_per_row() -> None:
    world = World().table("product", "attrs", {"price": "FP32"}, {"1": {"price": 3.0}})

    def odd(x: Any) -> Any:
        raise ModelFailed("m", "odd")

    world.models["odd"] = row_model(odd)
    fs = feature_step("product", {"product_id": "product_id"}, {"attrs": ["price"]}, batch_size=1)
    models = {name: model_step("odd", {"product:attrs:price": "FP32"}) for name in ("m1", "m2")}
    world.broken_keys = {("2",)}
    scorer = world.scorer(config(["m1:score", "m2:score"], features={"fs": fs}, models=models))
    scores = scorer.score_now(request(entities={"product": ["1", "2"]}))
    assert scores.errors == [
        "m1: model 'm' failed: odd; m2: model 'm' failed: odd",
        "fs: the store is down; m1: model 'm' failed: odd; m2: model 'm' failed: odd",
    ]
