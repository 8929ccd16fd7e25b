"""Routes of configs."""

from __future__ import annotations

import pytest

from inferflow.api.gateway.management.ports import BackOffice, Text
from inferflow.app.golden import Outcome
from inferflow.errors import GoldenFailed, NotFound, PlanRejected, VersionConflict
from inferflow.plan.positions import Located

from ..behind import asking, keys
from .stand_ins import PLAN, STATUS, VERSION, KnownConfigs

ONE = "/api/v1/configs/ranker"
TEXT = Text("a: 1", "yaml")
BODY = {"text": "a: 1", "format": "yaml"}


@pytest.mark.parametrize(
    ("path", "asked", "told"),
    [
        ("", None, {"configs": [STATUS]}),
        ("/ranker", ("get", "ranker"), {"status": STATUS, "text": "a: 1", "version": 3}),
        ("/ranker/plan", ("plan", "ranker"), PLAN),
        ("/ranker/history", ("history", "ranker"), {"versions": [VERSION]}),
        ("/ranker/versions/4", ("version", "ranker", 4), {"version": VERSION, "text": "a: 1"}),
        ("/ranker/diff?from=3&to=4", ("difference", "ranker", 3, 4), {"from": 3, "to": 4}),
    ],
)
def test_what_is_asked_for_is_told(path: str, asked: object, told: dict[str, object]) -> None:
    configs = KnownConfigs()
    with asking(office=BackOffice(configs=configs)) as client:
        answer = client.get(f"/api/v1/configs{path}")
    assert answer.status_code == 200
    assert answer.json().items() >= told.items()
    assert configs.asked == ([] if asked is None else [asked])


def test_a_text_is_validated_with_places_and_checked_with_its_difference() -> None:
    configs = KnownConfigs()
    with asking(office=BackOffice(configs=configs)) as client:
        validated = client.post("/api/v1/configs/validate", json={**BODY, "id": "ranker"}).json()
        checked = client.post(f"{ONE}/check", json=BODY).json()
    assert (validated["problems"][0]["line"], validated["problems"][0]["column"]) == (2, 3)
    assert (checked["golden"][0]["passed"], checked["diff"]) == (True, ["+a"])
    assert configs.asked == [("validate", TEXT, "ranker"), ("check", "ranker", TEXT)]


def test_a_key_for_some_configs_neither_sees_nor_changes_others() -> None:
    configs, who = KnownConfigs(), keys(("page*",), ann="configure view")
    with asking(gate=who.gate, office=BackOffice(configs=configs)) as client:
        assert client.get("/api/v1/configs", headers=who["ann"]).json() == {"configs": []}
        assert client.get(ONE, headers=who["ann"]).status_code == 403
        assert client.put(ONE, json=BODY, headers=who["ann"]).status_code == 403
        assert client.post(f"{ONE}/rollback", json={}, headers=who["ann"]).status_code == 403
        play = {"request": {"entities": {"user": "7"}}}
        played = client.post("/api/v1/playground/ranker", json=play, headers=who["ann"])
        assert played.status_code == 403
    assert configs.asked == []


def test_whoever_publishes_is_the_author() -> None:
    configs, who = KnownConfigs(), keys(ann="configure")
    body = {**BODY, "expected_version": 3, "note": "better", "force": True}
    with asking(gate=who.gate, office=BackOffice(configs=configs)) as client:
        assert client.put(ONE, json=body, headers=who["ann"]).json()["version"] == VERSION
        assert client.post(f"{ONE}/rollback", json={"to": 2}, headers=who["ann"]).is_success
    more = {"author": "ann", "expected": 3, "note": "better", "force": True}
    back = {"author": "ann", "to": 2, "expected": None}
    assert configs.asked == [("publish", "ranker", TEXT, more), ("roll_back", "ranker", back)]


def test_without_keys_the_gateway_is_the_author() -> None:
    configs = KnownConfigs()
    with asking(office=BackOffice(configs=configs)) as client:
        client.put(ONE, json=BODY)
    assert configs.asked[0][-1]["author"] == "gateway"


def test_a_conflict_says_which_version_there_is() -> None:
    configs = KnownConfigs(refuses=VersionConflict("ranker", "version 3", "version 5", 5))
    with asking(office=BackOffice(configs=configs)) as client:
        answer = client.put(ONE, json=BODY)
    assert (answer.status_code, answer.json()["current"]) == (409, 5)


def test_a_config_with_problems_is_refused_with_all_of_them() -> None:
    problem = Located("model.inputs", "no such column", "closest: 'a'", line=7, column=9)
    configs = KnownConfigs(refuses=PlanRejected("ranker", [problem]))
    with asking(office=BackOffice(configs=configs)) as client:
        answer = client.put(ONE, json=BODY)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()["problems"][0]
    assert (told["where"], told["line"], told["column"]) == ("model.inputs", 7, 9)


def test_a_config_that_answers_otherwise_is_refused_with_the_differences() -> None:
    why = "expected 1.0, got 1.5"
    outcome = Outcome("sample", "ranker", "failed", columns=("s",), worst=0.5, why=why)
    configs = KnownConfigs(refuses=GoldenFailed("ranker", [outcome]))
    with asking(office=BackOffice(configs=configs)) as client:
        answer = client.put(ONE, json=BODY)
    assert answer.status_code == 422
    assert answer.json()["golden"] == [
        {
            "request": "sample",
            "passed": False,
            "difference": 0.5,
            "detail": "expected 1.0, got 1.5",
        }
    ]


def test_what_is_not_there_is_said_with_what_may_be_meant() -> None:
    configs = KnownConfigs(refuses=NotFound("model config", "rankr", nearest="ranker"))
    with asking(office=BackOffice(configs=configs)) as client:
        answer = client.get("/api/v1/configs/rankr/plan")
    assert (answer.status_code, answer.json()["hint"]) == (404, "closest: 'ranker'")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({**BODY, "format": "toml"}, "format"),
        ({**BODY, "expected_version": -1}, "expected_version"),
        ({**BODY, "expectedVersion": 1}, "expectedVersion"),
    ],
)
def test_a_body_that_does_not_fit_names_the_field(body: dict[str, object], field: str) -> None:
    with asking(office=BackOffice(configs=KnownConfigs())) as client:
        answer = client.put(ONE, json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_looking_is_not_changing() -> None:
    who = keys(looker="view")
    with asking(gate=who.gate, office=BackOffice(configs=KnownConfigs())) as client:
        assert client.get(ONE, headers=who["looker"]).status_code == 200
        assert client.put(ONE, json=BODY, headers=who["looker"]).status_code == 403
        assert client.get(ONE).status_code == 401


def test_a_gateway_without_configs_says_how_to_have_some() -> None:
    with asking() as client:
        answer = client.get("/api/v1/configs")
    assert (answer.status_code, answer.json()["detail"]) == (404, "this gateway has no configs")
    assert answer.json()["hint"] == "start the gateway in a project's folder"
