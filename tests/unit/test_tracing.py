from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.tracing import (
    Sampling,
    Span,
    TraceContext,
    Tracer,
    current_span,
    enter_span,
    read_context,
    running_step,
    tracer_in_use,
    use_tracer,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"

contexts = st.builds(
    TraceContext,
    trace_id=st.integers(1, 2**128 - 1),
    span_id=st.integers(1, 2**64 - 1),
    is_sampled=st.booleans(),
    state=st.sampled_from(["", "vendor=1", "a=1,b=2"]),
)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def traced(share: float = 1.0, clock: Any = None) -> tuple[Tracer, list[Span]]:
    ended: list[Span] = []
    ids = count(1)
    tracer = Tracer(
        ended.append,
        Sampling(share),
        clock=clock or Clock(),
        wall_ns=lambda: 1_000_000_000_000,
        bits=lambda _: next(ids),
    )
    return tracer, ended


# --- contexts -------------------------------------------------------------------------------


@given(contexts)
def test_a_context_is_read_as_it_was_written(context: TraceContext) -> None:
    headers = dict(context.headers())
    assert read_context(headers["traceparent"], headers.get("tracestate", "")) == context


@given(st.text(max_size=80), st.text(max_size=600))
def test_whatever_a_caller_sends_is_read_or_ignored(parent: str, state: str) -> None:
    found = read_context(parent, state)
    assert found is None or (found.trace_id and found.span_id)


@pytest.mark.parametrize(
    "parent",
    [
        "",
        PARENT.upper(),
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}",
        f" {PARENT}",
    ],
)
def test_what_is_no_traceparent_tells_of_no_trace(parent: str) -> None:
    assert read_context(parent) is None


def test_a_later_version_is_read_as_far_as_this_one_knows_it() -> None:
    found = read_context(f"cc-{TRACE}-{SPAN}-03-what.comes.later")
    assert found == TraceContext(int(TRACE, 16), int(SPAN, 16), True)


@pytest.mark.parametrize("state", ["a=1," * 200, "a=é", "a=\n"])
def test_a_state_that_cannot_be_passed_on_is_left_out(state: str) -> None:
    found = read_context(PARENT, state)
    assert found is not None
    assert found.state == ""


# --- sampling -------------------------------------------------------------------------------


@given(contexts, st.floats(0, 1))
def test_callers_decide_for_their_own_traces(parent: TraceContext, share: float) -> None:
    assert Sampling(share).keeps(parent.trace_id, parent) is parent.is_sampled


@given(contexts, st.floats(0, 1), st.floats(0, 1))
def test_what_a_small_share_keeps_a_larger_one_keeps_too(
    parent: TraceContext, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    kept = Sampling(less, heeds_callers=False).keeps(parent.trace_id, parent)
    assert not kept or Sampling(more, heeds_callers=False).keeps(parent.trace_id, None)


@given(st.integers(1, 2**128 - 1))
def test_all_is_all_and_nothing_is_nothing(trace_id: int) -> None:
    assert Sampling(1.0).keeps(trace_id, None)
    assert not Sampling(0.0).keeps(trace_id, None)


# --- spans ----------------------------------------------------------------------------------


def test_a_span_begins_under_its_caller_and_keeps_the_callers_state() -> None:
    tracer, ended = traced()
    span = tracer.begin("Predict/Infer", "server", read_context(PARENT, "vendor=1"))
    span.end()
    assert ended == [span]
    assert (span.context.trace_id, span.parent_id) == (int(TRACE, 16), int(SPAN, 16))
    assert dict(span.headers())["tracestate"] == "vendor=1"


def test_times_follow_a_clock_that_never_jumps() -> None:
    clock = Clock()
    tracer, _ = traced(clock=clock)
    root = tracer.begin("root", "server", None)
    clock.s += 0.5
    child = root.child("child", "client")
    clock.s += 0.25
    child.end()
    root.end("UNAVAILABLE")
    assert (child.start_ns - root.start_ns, child.end_ns - root.start_ns) == (5e8, 7.5e8)
    assert (root.end_ns - root.start_ns, root.error) == (7.5e8, "UNAVAILABLE")


def test_calls_of_a_step_are_under_the_span_that_is_made_of_it_later() -> None:
    clock = Clock()
    tracer, ended = traced(clock=clock)
    root = tracer.begin("root", "server", None)
    entered = running_step.set("ranker")
    calls = [root.child("ModelInfer", "client") for _ in range(2)]
    running_step.reset(entered)
    step = root.step("ranker", clock.s + 1, 0.5)
    step.finish()
    assert ended == [step]
    assert {call.parent_id for call in calls} == {step.context.span_id}
    assert step.parent_id == root.context.span_id
    assert (step.start_ns - root.start_ns, step.end_ns - root.start_ns) == (1e9, 1.5e9)


def test_a_trace_that_is_not_kept_still_tells_its_ids() -> None:
    tracer, ended = traced(share=0)
    root = tracer.begin("root", "server", None)
    child = root.child("call", "client")
    child.end()
    root.end()
    assert ended == []
    assert child is root
    assert dict(root.headers())["traceparent"].endswith("-00")


def test_there_is_no_span_and_no_tracer_unless_somebody_traces() -> None:
    assert current_span() is None
    assert tracer_in_use() is None
    tracer, _ = traced()
    stop = use_tracer(tracer)
    try:
        assert tracer_in_use() is tracer
    finally:
        stop()
    assert tracer_in_use() is None


def test_a_span_is_current_for_the_task_that_entered_it() -> None:
    import contextvars

    tracer, _ = traced()
    span = tracer.begin("root", "server", None)

    def inside() -> Span | None:
        enter_span(span)
        return current_span()

    assert contextvars.copy_context().run(inside) is span
    assert current_span() is None
