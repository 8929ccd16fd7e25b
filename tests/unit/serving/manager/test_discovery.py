"""Where callers are sent, and what workers are told."""

from __future__ import annotations

from collections import Counter

import pytest

from inferflow.access import Permission, RateLimit
from inferflow.errors import InvalidInput, ModelUnavailable, NotFound, PermissionDenied
from inferflow.serving.manager.briefing import Briefing
from inferflow.serving.manager.discovery import Wanted
from inferflow.serving.manager.joining import Joining
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.reports import DeviceReport, ModelReport, WorkerReport
from inferflow.serving.manager.storage.records import Stage

from .office import CALLER, OPERATOR, WORKER, Office, card, order


def join(office: Office, worker_id: str, *models: tuple[str, str], gpu: bool = False) -> None:
    roster = office.services.roster
    devices = (DeviceReport("cuda"),) if gpu else ()
    office.run(roster.join(WORKER, Joining(worker_id, f"{worker_id}:1", devices)))
    held = tuple(ModelReport(model, version) for model, version in models)
    roster.hear(WORKER, worker_id, 1, WorkerReport(models=held))


def names(office: Office, wanted: Wanted) -> list[str]:
    found = office.services.discovery.find(CALLER, wanted)
    return [each.worker.worker_id for each in found.workers]


def test_a_caller_gets_the_workers_that_hold_the_version_in_production(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    join(office, "cold")
    join(office, "warm", ("ranker", "1"))
    found = office.services.discovery.find(CALLER, Wanted("ranker"))
    assert [each.worker.worker_id for each in found.workers] == ["warm", "cold"]
    assert [each.has_model for each in found.workers] == [True, False]
    claims = office.services.sessions.read(found.session.token)
    assert (claims.model, claims.version) == ("ranker", "1")
    assert claims.workers == ("warm", "cold")
    assert names(office, Wanted("ranker", limit=1)) == ["warm"]


def test_who_failed_the_caller_is_named_last_and_who_is_silent_never(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    join(office, "a")
    office.clock.advance(9)
    join(office, "b")
    join(office, "c", gpu=True)
    assert names(office, Wanted("ranker", avoid=frozenset({"b"}))) == ["c", "a", "b"]
    office.clock.advance(1)
    assert set(names(office, Wanted("ranker"))) == {"b", "c"}
    assert names(office, Wanted("ranker", needs_gpu=True)) == ["c"]


def test_without_a_worker_the_caller_is_told_to_come_back(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    with pytest.raises(ModelUnavailable, match="no worker is up"):
        names(office, Wanted("ranker"))
    join(office, "a")
    with pytest.raises(ModelUnavailable, match="with a GPU"):
        names(office, Wanted("ranker", needs_gpu=True))
    with pytest.raises(NotFound):
        names(office, Wanted("nobody"))
    with pytest.raises(PermissionDenied):
        office.services.discovery.find(WORKER, Wanted("ranker"))
    for wrong in (Wanted("ranker", affinity_key="x" * 600), Wanted("ranker", avoid=_many())):
        with pytest.raises(InvalidInput):
            names(office, wrong)


def _many() -> frozenset[str]:
    return frozenset(map(str, range(300)))


def test_a_key_for_some_models_finds_no_others(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    join(office, "a")
    narrow = card("narrow", Permission.INFERENCE, models=["rank*"])
    other = card("other", Permission.INFERENCE, models=["seg*"])
    assert office.services.discovery.find(narrow, Wanted("ranker"))
    with pytest.raises(PermissionDenied, match="not for model"):
        office.services.discovery.find(other, Wanted("ranker"))


def test_weights_spread_callers_and_a_key_of_their_own_keeps_them_together(
    office: Office,
) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    office.publish("ranker", Stage.STAGING)
    join(office, "a")
    office.run(office.services.registry.set_traffic(OPERATOR, "ranker", {1: 70.0, 2: 30.0}))
    find = office.services.discovery.find
    met = Counter(find(CALLER, Wanted("ranker")).session.version for _ in range(400))
    assert 60 < met["2"] < 190
    own = Wanted("ranker", affinity_key="user-1")
    assert len({find(CALLER, own).session.version for _ in range(20)}) == 1


def test_a_session_is_renewed_until_its_version_is_replaced_or_its_workers_are_gone(
    office: Office,
) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    join(office, "a")
    discovery = office.services.discovery
    first = discovery.find(CALLER, Wanted("ranker")).session
    office.clock.advance(1)
    again = discovery.renew(CALLER, first.token)
    assert again.session.expires_ms == first.expires_ms + 1000
    assert [each.worker.worker_id for each in again.workers] == ["a"]
    office.publish("ranker", Stage.PRODUCTION)
    with pytest.raises(NotFound):
        discovery.renew(CALLER, again.session.token)
    second = discovery.find(CALLER, Wanted("ranker")).session
    office.clock.advance(10)
    with pytest.raises(ModelUnavailable, match="discover anew"):
        discovery.renew(CALLER, second.token)


def briefing(office: Office, worker_id: str = "a") -> Briefing:
    view = office.services.roster.fleet.workers[worker_id]
    return office.services.briefings.for_worker(view)


def test_a_briefing_changes_only_when_what_it_says_does(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    join(office, "a")
    first = briefing(office)
    office.clock.advance(1)
    assert briefing(office) == first
    created = office.run(
        office.services.keys.create(OPERATOR, _key_order("inference", per_second=5))
    )
    limited = briefing(office)
    assert limited.etag != first.etag
    assert list(limited.limits) == [created.card.key_id]
    office.run(office.services.keys.create(OPERATOR, _key_order("admin")))
    office.run(office.services.keys.revoke(OPERATOR, created.card.key_id))
    assert briefing(office).revocations.key_ids == {created.card.key_id}
    office.run(office.services.roster.drain(OPERATOR, "a"))
    assert briefing(office).drain


def _key_order(permission: str, per_second: float = 0) -> KeyOrder:
    return KeyOrder("k", [permission], rate=RateLimit(per_second, 5) if per_second else None)


def test_the_version_in_production_is_the_last_and_ones_with_a_problem_are_left_out(
    office: Office,
) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    office.publish("ranker", Stage.DEV)
    office.publish("ranker", Stage.DEV)
    join(office, "a")
    assert [version.number for version in briefing(office).versions] == [2, 3, 1]
    office.run(office.services.registry.report_problem(WORKER, "ranker", 2, "corrupt"))
    assert [version.number for version in briefing(office).versions] == [3, 1]


def test_workers_hold_ready_what_gets_traffic_of_the_models_they_serve(office: Office) -> None:
    office.publish("ranker", Stage.PRODUCTION)
    office.publish("other", Stage.PRODUCTION)
    join(office, "a", ("ranker", "1"))
    assert briefing(office).prefetch == (("ranker", "1"),)
    office.publish("ranker", Stage.PRODUCTION)
    assert briefing(office).prefetch == (("ranker", "2"),)
    office.run(office.services.registry.promote(OPERATOR, "ranker", 1, Stage.STAGING))
    office.run(office.services.registry.set_traffic(OPERATOR, "ranker", {1: 5.0, 2: 95.0}))
    assert briefing(office).prefetch == (("ranker", "1"), ("ranker", "2"))


def test_announcing_the_same_upload_again_goes_on_with_it(office: Office) -> None:
    uploads = office.services.uploads
    asked = order("ranker")
    first = office.run(uploads.begin(OPERATOR, asked))
    office.run(uploads.append(OPERATOR, first.upload_id, "model.onnx", 0, b"a mo"))
    again = office.run(uploads.begin(OPERATOR, asked))
    assert (again.upload_id, again.number) == (first.upload_id, 1)
    assert again.files[0].received == 4
    other = office.run(uploads.begin(OPERATOR, order("ranker", more=b"x")))
    assert (other.upload_id != first.upload_id, other.number) == (True, 2)
