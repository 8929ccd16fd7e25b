"""What a manager knows of workers, and when a silent one is given up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.serving.manager.fleet import (
    Fleet,
    Load,
    Patience,
    Transition,
    WorkerState,
    WorkerView,
    transitions,
)

PATIENCE = Patience()
BUSY = Load(in_flight=7)


def fleet(*ids: str, at_s: float = 0.0) -> Fleet:
    return Fleet({each: WorkerView(each, f"{each}:1", at_s) for each in ids})


@pytest.mark.parametrize(
    ("silent_s", "state"),
    [
        (-5, "online"),
        (0, "online"),
        (2.999, "online"),
        (3, "suspect"),
        (9.999, "suspect"),
        (10, "offline"),
        (10_000, "offline"),
    ],
)
def test_a_silent_worker_is_suspect_and_then_offline(silent_s: float, state: str) -> None:
    worker = WorkerView("w", "w:1", 100.0)
    assert worker.state(100.0 + silent_s, PATIENCE) == state


def test_a_leaving_worker_is_draining_until_it_is_gone() -> None:
    leaving = fleet("w").draining("w").workers["w"]
    assert leaving.state(1.0, PATIENCE) is WorkerState.DRAINING
    assert leaving.state(5.0, PATIENCE) is WorkerState.DRAINING
    assert leaving.state(10.0, PATIENCE) is WorkerState.OFFLINE
    assert fleet("w").draining("nobody") == fleet("w")


def test_a_report_brings_a_worker_back_and_says_what_it_does() -> None:
    after = fleet("w").reported("w", 1, BUSY, now_s=9.0, patience=PATIENCE)
    assert after is not None
    assert after.workers["w"].load == BUSY
    assert after.workers["w"].state(9.0, PATIENCE) is WorkerState.ONLINE


def test_an_unknown_worker_must_register() -> None:
    assert fleet("w").reported("x", 1, BUSY, now_s=1.0, patience=PATIENCE) is None


def test_a_report_that_was_overtaken_only_shows_that_the_worker_is_alive() -> None:
    first = fleet("w").reported("w", 5, BUSY, now_s=1.0, patience=PATIENCE)
    assert first is not None
    late = first.reported("w", 4, Load(), now_s=2.0, patience=PATIENCE)
    assert late is not None
    assert late.workers["w"].load == BUSY
    assert late.workers["w"].last_seen_s == 2.0


def test_after_a_silence_a_worker_may_count_anew() -> None:
    first = fleet("w").reported("w", 500, BUSY, now_s=1.0, patience=PATIENCE)
    assert first is not None
    again = first.reported("w", 1, Load(queued=2), now_s=4.0, patience=PATIENCE)
    assert again is not None
    assert again.workers["w"].load == Load(queued=2)
    assert again.workers["w"].sequence == 1


def test_a_worker_that_registers_again_begins_anew() -> None:
    old = fleet("w").draining("w").reported("w", 9, BUSY, now_s=1.0, patience=PATIENCE)
    assert old is not None
    fresh = old.joined(WorkerView("w", "elsewhere:2", 5.0))
    assert fresh.workers == {"w": WorkerView("w", "elsewhere:2", 5.0)}


def test_what_other_managers_heard_never_turns_time_back() -> None:
    known = fleet("a", "b", at_s=10.0)
    told = known.seen({"a": 12.0, "b": 9.0, "nobody": 50.0})
    assert {each: worker.last_seen_s for each, worker in told.workers.items()} == {
        "a": 12.0,
        "b": 10.0,
    }
    assert known.seen({"b": 1.0}) is known


def test_workers_that_do_not_come_back_are_forgotten_in_the_end() -> None:
    known = fleet("old").joined(WorkerView("new", "new:1", 3000.0))
    assert known.forgotten(3599.0, PATIENCE) == ()
    gone = known.forgotten(3600.0, PATIENCE)
    assert gone == ("old",)
    assert set(known.without(gone).workers) == {"new"}


def test_every_change_of_a_state_is_told_once() -> None:
    known = fleet("a", "b")
    told: dict[str, WorkerState] = {}
    seen = []
    for now_s in range(12):
        fresh = known.reported("b", now_s + 1, Load(), now_s=now_s, patience=PATIENCE)
        assert fresh is not None
        known = fresh
        states = known.states(now_s, PATIENCE)
        seen += [(now_s, each) for each in transitions(told, states)]
        told = states
    assert seen == [
        (0, Transition("a", None, WorkerState.ONLINE)),
        (0, Transition("b", None, WorkerState.ONLINE)),
        (3, Transition("a", WorkerState.ONLINE, WorkerState.SUSPECT)),
        (10, Transition("a", WorkerState.SUSPECT, WorkerState.OFFLINE)),
    ]
    assert transitions(told, {"b": WorkerState.ONLINE}) == (
        Transition("a", WorkerState.OFFLINE, None),
    )


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=40))
def test_a_snapshot_is_never_changed_by_what_comes_after(events: list[tuple[str, int]]) -> None:
    known = fleet("a", "b")
    before = dict(known.workers)
    now = known
    for worker_id, at_s in events:
        now = now.reported(worker_id, at_s, BUSY, now_s=at_s, patience=PATIENCE) or now
        now = now.draining(worker_id)
    assert known.workers == before
    assert {each: it.last_seen_s for each, it in now.workers.items()} == {
        each: max([0, *(at for worker, at in events if worker == each)]) for each in "ab"
    }
