"""The gate around the map, and commits that are shared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from inferflow.errors import StoreFailed
from inferflow.featurestore.commits import Committer, Job
from inferflow.featurestore.gate import Gate


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_whoever_wants_to_be_alone_waits_for_those_inside() -> None:
    gate, log = Gate(), []
    gate.enter()

    def be_alone() -> None:
        with gate.alone():
            log.append("alone")

    waiting = started(be_alone)
    gate.enter()  # who is inside is never kept out
    gate.leave()
    log.append("left")
    gate.leave()
    waiting.join()
    assert log == ["left", "alone"]


def test_newcomers_wait_while_someone_is_alone() -> None:
    gate, log = Gate(), []
    is_alone, go = threading.Event(), threading.Event()

    def be_alone() -> None:
        with gate.alone():
            is_alone.set()
            go.wait()
            log.append("alone")

    def visit() -> None:
        gate.enter()
        log.append("visit")
        gate.leave()

    owner = started(be_alone)
    is_alone.wait()
    visitors = [started(visit) for _ in range(3)]
    go.set()
    for thread in (owner, *visitors):
        thread.join()
    assert log == ["alone", "visit", "visit", "visit"]


def test_a_thread_inside_may_be_alone_although_another_waits_for_it_to_leave() -> None:
    gate, log = Gate(), []
    gate.enter()

    def be_alone() -> None:
        with gate.alone():
            log.append("outsider")

    waiting = started(be_alone)
    with gate.alone():
        log.append("insider")
    gate.leave()
    waiting.join()
    assert log == ["insider", "outsider"]
    gate.enter()  # nobody has left the gate shut
    gate.leave()


def test_every_piece_of_work_is_committed_once_whoever_commits_it() -> None:
    batches: list[list[int]] = []
    first_is_in, go = threading.Event(), threading.Event()

    def commit(jobs: Sequence[Job[int]]) -> None:
        first_is_in.set()
        go.wait()
        batches.append([job.work for job in jobs])
        for job in jobs:
            job.error = ValueError(str(job.work)) if job.work % 3 == 0 else None

    committer = Committer(commit)
    refused: list[tuple[int, str]] = []

    def submit(work: int) -> None:
        try:
            committer.submit(work)
        except ValueError as error:
            refused.append((work, str(error)))

    threads = [started(lambda: submit(1))]
    first_is_in.wait()
    threads += [started(lambda work=work: submit(work)) for work in range(2, 10)]
    go.set()
    for thread in threads:
        thread.join()
    assert sorted(work for batch in batches for work in batch) == list(range(1, 10))
    assert sorted(refused) == [(3, "3"), (6, "6"), (9, "9")]


def test_a_commit_that_fails_is_told_and_the_next_one_goes_on() -> None:
    outcomes = iter([StoreFailed("disk"), None])

    def commit(_: Sequence[Job[str]]) -> None:
        failure = next(outcomes)
        if failure:
            raise failure

    committer = Committer(commit)
    with pytest.raises(StoreFailed, match="disk"):
        committer.submit("a")
    committer.submit("b")
