"""A worker's link to its manager: joining, reporting, orders, and managers that are away."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from inferflow.client.manager.calls import declared
from inferflow.client.manager.link import FleetLink
from inferflow.client.manager.orders import Orders
from inferflow.errors import InferflowError, PermissionDenied, Unreachable

AWAY = Unreachable("manager:1", 1, "refused")


class Calls:
    """A manager that answers as it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.fails: InferflowError | None = None
        self.knows = True
        self.etag = "e1"
        self.now_ms = 0

    def ask(self, method: str, request: Any, answer: str, **_: Any) -> Any:
        self.asked.append((method, request))
        if self.fails is not None:
            raise self.fails
        made = declared(answer)()
        if method == "Fleet/Register":
            made.worker_id, made.heartbeat_period_ms = request.worker_id or "given", 500
            made.orders.etag = self.etag
            self.knows = True
        elif method == "Fleet/Heartbeat":
            made.register_again, made.now_ms = not self.knows, self.now_ms
            if request.orders_etag != self.etag and self.knows:
                made.orders.etag = self.etag
        return made

    @property
    def methods(self) -> list[str]:
        return [method.removeprefix("Fleet/") for method, _ in self.asked]


class Worker:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.orders: list[str] = []
        self.arrived = 0
        self.refusals: list[InferflowError] = []

    def joining(self) -> Any:
        return declared("RegisterRequest")(worker_id="w1")

    def joined(self, worker_id: str) -> None:
        self.names.append(worker_id)

    def report(self) -> Any:
        return declared("WorkerReport")(in_flight=3)

    def reported(self, report: Any) -> None:
        assert report.in_flight == 3
        self.arrived += 1

    def obey(self, orders: Orders) -> None:
        self.orders.append(orders.etag)

    def refused(self, why: InferflowError) -> None:
        self.refusals.append(why)


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def link(calls: Calls, worker: Worker) -> FleetLink:
    return FleetLink(calls, worker, clock=lambda: 0.0, chance=lambda: 1.0)  # type: ignore[arg-type]


def test_it_joins_once_and_then_reports(link: FleetLink, calls: Calls, worker: Worker) -> None:
    assert [link.step() for _ in range(3)] == [0.5, 0.5, 0.5]
    assert calls.methods == ["Register", "Heartbeat", "Heartbeat"]
    assert [request.sequence for _, request in calls.asked[1:]] == [1, 2]
    assert (worker.names, worker.orders, worker.arrived) == (["w1"], ["e1"], 2)


def test_orders_are_taken_when_they_changed(link: FleetLink, calls: Calls, worker: Worker) -> None:
    link.step()
    link.step()
    calls.etag = "e2"
    link.step()
    link.step()
    assert worker.orders == ["e1", "e2"]
    assert [request.orders_etag for _, request in calls.asked[1:]] == ["e1", "e1", "e2"]


def test_a_manager_that_does_not_know_the_worker_has_it_join_again(
    link: FleetLink, calls: Calls, worker: Worker
) -> None:
    link.step()
    calls.knows = False
    link.step()
    link.step()
    assert calls.methods == ["Register", "Heartbeat", "Register", "Heartbeat"]
    assert worker.arrived == 1  # the report that was not taken is not counted as told
    assert calls.asked[-1][1].sequence == 1


def test_while_no_manager_answers_it_waits_longer_each_time(
    link: FleetLink, calls: Calls, worker: Worker
) -> None:
    link.step()
    calls.fails = AWAY
    assert [round(link.step(), 3) for _ in range(6)] == [0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    calls.fails = None
    assert link.step() == 0.5
    calls.fails = AWAY
    assert round(link.step(), 3) == 0.2
    assert (worker.refusals, worker.arrived) == ([], 1)


def test_a_worker_that_is_refused_from_the_start_is_told(
    link: FleetLink, calls: Calls, worker: Worker
) -> None:
    calls.fails = AWAY
    link.step()
    assert worker.refusals == []  # a manager that is away may come
    calls.fails = PermissionDenied("no")
    link.step()
    assert worker.refusals == [calls.fails]


def test_a_worker_that_was_in_goes_on_when_its_key_is_refused(
    link: FleetLink, calls: Calls, worker: Worker
) -> None:
    link.step()
    calls.fails = PermissionDenied("the key was revoked")
    link.step()
    assert worker.refusals == []


def test_leaving_is_told_and_nobody_minds_when_it_cannot_be(
    link: FleetLink, calls: Calls, worker: Worker
) -> None:
    link.leave()
    assert calls.asked == []  # it never joined
    link.step()
    link.leave()
    calls.fails = AWAY
    link.leave()
    assert calls.methods == ["Register", "Drain", "Drain"]
    assert calls.asked[-1][1].worker_id == "w1"


def test_in_its_thread_it_catches_up_when_asked_to(calls: Calls, worker: Worker) -> None:
    link = FleetLink(calls, worker)  # type: ignore[arg-type]
    link.start()
    try:
        for _ in range(3):  # much less than a period each
            before = len(calls.asked)
            assert link.catch_up()
            assert len(calls.asked) > before
    finally:
        link.close()


def test_a_report_under_way_is_not_what_catching_up_waits_for(worker: Worker) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    class Slow(Calls):
        def ask(self, method: str, *rest: Any, **how: Any) -> Any:
            asked.set()
            assert may_answer.wait(10)
            return super().ask(method, *rest, **how)

    calls = Slow()
    link = FleetLink(calls, worker)  # type: ignore[arg-type]
    link.start()
    try:
        assert asked.wait(10)  # the first is under way
        catching_up = threading.Thread(target=link.catch_up)
        catching_up.start()
        assert link._wake.wait(10)
        may_answer.set()
        catching_up.join(10)
        assert len(calls.asked) > 1
    finally:
        may_answer.set()
        link.close()


def test_it_has_not_caught_up_while_no_manager_answers(calls: Calls, worker: Worker) -> None:
    calls.fails = AWAY
    link = FleetLink(calls, worker)  # type: ignore[arg-type]
    link.start()
    try:
        assert not link.catch_up(within_s=0.01)
        calls.fails = None
        assert link.catch_up()
    finally:
        link.close()


def test_a_bug_does_not_silence_the_worker(calls: Calls, worker: Worker) -> None:
    class Broken(Worker):
        def report(self) -> Any:
            raise ZeroDivisionError

    link = FleetLink(calls, Broken())  # type: ignore[arg-type]
    link.start()
    try:
        assert not link.catch_up(within_s=0.2)
        assert link._thread.is_alive()
    finally:
        link.close()


def test_a_worker_says_by_how_much_its_clock_differs_from_the_managers(
    calls: Calls, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    calls.now_ms = 1_000_000
    link = FleetLink(calls, worker, clock=lambda: 0.0, wall=lambda: 4_600.0)  # type: ignore[arg-type]
    for _ in range(3):
        link.step()
    [record] = [each for each in caplog.records if each.message == "clock_differs_from_manager"]
    assert vars(record)["ahead_s"] == 3600
