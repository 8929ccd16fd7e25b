"""Who changed what, and who may know."""

from __future__ import annotations

import pytest

from inferflow.access import OPERATOR, Permission
from inferflow.errors import PermissionDenied
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.storage.records import Stage

from .office import CALLER, Office, card, order


def told(office: Office, by: object = OPERATOR, **which: str) -> list[str]:
    found = office.run(office.services.trail.latest(by, **which))  # type: ignore[arg-type]
    return [f"{entry.action} {entry.subject}" for entry in found][::-1]


def test_everything_that_happens_to_a_model_is_found_by_its_name(office: Office) -> None:
    registry = office.services.registry
    office.publish("ranker", Stage.PRODUCTION)
    office.publish("ranker", Stage.STAGING)
    office.publish("ranker")
    office.publish("search")
    office.run(registry.set_traffic(OPERATOR, "ranker", {1: 90, 2: 10}))
    office.run(registry.set_traffic(OPERATOR, "ranker", {}))
    office.run(registry.report_problem(OPERATOR, "ranker", 1, "its bytes changed"))
    office.run(registry.delete_version(OPERATOR, "ranker", 3))
    begun = office.upload(order("ranker"), by=OPERATOR)
    office.run(office.services.uploads.abort(OPERATOR, begun.upload_id))
    office.checks.refuses = "it is no model"
    begun = office.upload(order("ranker"), by=OPERATOR)
    with pytest.raises(Exception, match="it is no model"):
        office.run(office.services.publishing.finish(OPERATOR, begun.upload_id, Stage.DEV))
    assert told(office, model="ranker") == [
        "version published ranker@1",
        "stage changed ranker@1",
        "version published ranker@2",
        "stage changed ranker@2",
        "version published ranker@3",
        "traffic set ranker",
        "traffic set ranker",
        "problem reported ranker@1",
        "version deleted ranker@3",
        "upload aborted ranker@4",
        "upload refused ranker@4",
    ]
    assert told(office, model="search") == ["version published search@1"]


def test_an_administrator_of_some_models_sees_what_happened_to_these_alone(office: Office) -> None:
    office.publish("ranker")
    office.publish("search")
    office.run(office.services.keys.create(OPERATOR, KeyOrder("a", ["admin"])))
    by = card("by", Permission.ADMIN, models=["rank*"])
    assert told(office, by) == ["version published ranker@1"]
    assert told(office, by, model="ranker") == ["version published ranker@1"]
    with pytest.raises(PermissionDenied, match="not for model 'search'"):
        told(office, by, model="search")
    assert len(told(office)) == 3


def test_the_trail_is_for_administrators(office: Office) -> None:
    with pytest.raises(PermissionDenied, match="'admin'"):
        told(office, CALLER)
