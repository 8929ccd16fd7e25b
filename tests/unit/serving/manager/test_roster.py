"""Workers of a fleet, as one manager and as several know them."""

from __future__ import annotations

import pytest

from inferflow.access import Permission
from inferflow.errors import InvalidInput, NotFound, PermissionDenied, RegistryConflict
from inferflow.serving.manager.fleet import WorkerState
from inferflow.serving.manager.joining import Joining
from inferflow.serving.manager.reports import (
    DeviceReport,
    Latency,
    ModelReport,
    WorkerReport,
    report_from,
)

from .office import CALLER, NOW, WORKER, Office, card

ADMIN = card("admin", Permission.ADMIN)
GPU = DeviceReport("cuda", 0, "a GPU", 2**34)
REPORT = WorkerReport(
    cpu_percent=12.5,
    in_flight=3,
    queued=1,
    latency=Latency(1, 2, 3),
    devices=(GPU,),
    models=(
        ModelReport("ranker", "1", digest="d", latency=Latency(4, 5, 6)),
        ModelReport("broken", "2", "failed", reason="no"),
    ),
)


def joining(worker_id: str = "w1", address: str = "10.0.0.1:8001") -> Joining:
    return Joining(worker_id, address, (GPU,), slots=4, labels={"zone": "a"})


def states(office: Office) -> dict[str, str]:
    return {known.record.worker_id: known.state.value for known in office.services.roster.known()}


def test_a_worker_is_online_suspect_offline_and_forgotten_by_its_silence(office: Office) -> None:
    roster = office.services.roster
    office.run(roster.join(WORKER, joining()))
    seen = [states(office)["w1"]]
    for silent_s in (3.0, 7.0):
        office.clock.advance(silent_s)
        seen.append(states(office)["w1"])
    assert seen == ["online", "suspect", "offline"]
    assert office.run(roster.forget()) == ()
    office.clock.advance(3600)
    assert office.run(roster.forget()) == ("w1",)
    office.run(roster.share())
    assert states(office) == {}
    assert not roster.hear(WORKER, "w1", 9, REPORT)  # so it will join again


def test_what_one_manager_hears_the_others_know_after_both_have_shared(office: Office) -> None:
    other = office.another()
    office.run(office.services.roster.join(WORKER, joining()))
    office.clock.advance(2)
    assert office.services.roster.hear(WORKER, "w1", 1, REPORT)
    office.run(office.services.roster.share())
    office.run(other.roster.share())
    [known] = other.roster.known()
    assert known.report == REPORT
    assert known.view.last_seen_s == NOW + 2
    assert (known.view.gpus, known.view.slots) == (1, 4)
    assert known.view.load.loaded == {("ranker", "1")}
    assert known.view.load.failed == {("broken", "2")}
    # The worker turns to the other manager, whose news come back.
    office.clock.advance(1)
    assert other.roster.hear(WORKER, "w1", 2, WorkerReport(in_flight=9))
    office.run(other.roster.share())
    office.run(office.services.roster.share())
    [known] = office.services.roster.known()
    assert (known.report.in_flight, known.view.last_seen_s) == (9, NOW + 3)
    office.run(other.roster.drain(ADMIN, "w1"))
    office.run(office.services.roster.share())
    assert states(office) == {"w1": WorkerState.DRAINING}
    office.run(other.close())


def test_a_restart_forgets_no_worker(office: Office) -> None:
    office.run(office.services.roster.join(WORKER, joining()))
    office.services.roster.hear(WORKER, "w1", 1, REPORT)
    office.run(office.services.tick())
    office.reopen()
    assert states(office) == {"w1": "online"}
    assert office.services.roster.hear(WORKER, "w1", 2, REPORT)


def test_a_second_worker_under_the_same_name_is_refused_while_the_first_is_at_work(
    office: Office,
) -> None:
    roster = office.services.roster
    office.run(roster.join(WORKER, joining()))
    with pytest.raises(RegistryConflict, match=r"at work at 10\.0\.0\.1:8001"):
        office.run(roster.join(WORKER, joining(address="10.0.0.2:8001")))
    office.run(roster.join(WORKER, joining()))  # the same one, restarted
    office.clock.advance(3)
    office.run(roster.join(WORKER, joining(address="10.0.0.2:8001")))
    assert roster.fleet.workers["w1"].address == "10.0.0.2:8001"


def test_a_worker_that_comes_back_is_no_longer_leaving(office: Office) -> None:
    roster = office.services.roster
    office.run(roster.join(WORKER, joining()))
    office.run(roster.drain(WORKER, "w1"))
    assert states(office) == {"w1": "draining"}
    office.clock.advance(1)
    office.run(roster.join(WORKER, joining()))
    office.run(roster.share())
    assert states(office) == {"w1": "online"}


def test_a_worker_without_a_name_gets_one(office: Office) -> None:
    record = office.run(office.services.roster.join(WORKER, joining("")))
    assert record.worker_id.startswith("worker-")


def test_only_workers_join_report_and_leave(office: Office) -> None:
    roster = office.services.roster
    with pytest.raises(PermissionDenied):
        office.run(roster.join(CALLER, joining()))
    office.run(roster.join(WORKER, joining()))
    with pytest.raises(PermissionDenied):
        roster.hear(CALLER, "w1", 1, REPORT)
    with pytest.raises(PermissionDenied):
        office.run(roster.drain(CALLER, "w1"))
    with pytest.raises(NotFound):
        office.run(roster.drain(ADMIN, "w9"))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (Joining("../x", "h:1"), "worker_id"),
        (Joining("w" * 200, "h:1"), "worker_id"),
        (Joining("w", "h"), "address"),
        (Joining("w", "h:0"), "address"),
        (Joining("w", "h:99999"), "address"),
        (Joining("w", "a b:1"), "address"),
        (Joining("w", "h:1", slots=0), "slots"),
        (Joining("w", "h:1", labels={"a": "\0"}), "labels"),
        (Joining("w", "h:1", labels={str(n): "" for n in range(99)}), "labels"),
    ],
)
def test_what_a_worker_says_of_itself_is_checked(
    office: Office, wrong: Joining, named: str
) -> None:
    with pytest.raises(InvalidInput, match=named):
        office.run(office.services.roster.join(WORKER, wrong))


def test_a_report_survives_being_kept_and_ignores_what_it_does_not_know() -> None:
    written = REPORT.as_dict()
    assert report_from(written) == REPORT
    written["weather"] = "fine"
    written["models"] = [{**written["models"][0], "mood": "good"}]
    assert report_from(written).models == REPORT.models[:1]
    assert report_from({}) == WorkerReport()
