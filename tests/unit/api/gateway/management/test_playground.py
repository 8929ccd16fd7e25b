"""Routes to try requests, and to look at those that are kept."""

from __future__ import annotations

from inferflow.api.gateway.management.ports import BackOffice
from inferflow.errors import InvalidRequest, NotFound, PlanRejected
from inferflow.plan.problems import Problem

from ..behind import asking, keys
from .stand_ins import LINE, RUN, KnownPlayground, KnownRecordings

PLAY = "/api/v1/playground/ranker"
REQUEST = {"entities": {"user": "7"}}


def test_samples_are_listed_by_config() -> None:
    with asking(office=BackOffice(playground=KnownPlayground())) as client:
        told = client.get("/api/v1/samples?config=ranker").json()
    assert told == {"samples": [{"name": "one", "request": {"model_config_id": "ranker"}}]}


def test_a_request_is_played_with_its_overrides() -> None:
    playground = KnownPlayground()
    values = [{"column": "user:profile:age", "id": None, "value": 3}]
    body = {"request": REQUEST, "item": "1", "overrides": {"values": values, "models": {"m": "2"}}}
    with asking(office=BackOffice(playground=playground)) as client:
        told = client.post(PLAY, json=body).json()
    asked = {"values": values, "models": {"m": "2"}, "text": None}
    assert playground.asked == [("ranker", REQUEST, "1", asked)]
    assert told["answer"]["targets"][0]["scores"] == {"model:score": 0.5}
    assert told["baseline"]["targets"][0]["scores"] == {"model:score": 0.4}
    assert told["run"] == RUN
    assert told["matrix"]["rows"] == 1


def test_values_that_json_cannot_hold_are_texts_and_facts_that_are_not_there_are_left_out() -> None:
    with asking(office=BackOffice(playground=KnownPlayground())) as client:
        told = client.post(PLAY, json={"request": REQUEST, "item": "1"}).json()
    column = told["item"]["rows"][0]["columns"][0]
    assert (column["value"], column["age_s"]) == ("NaN", 3.0)
    assert "has_default" not in column


def test_a_text_that_cannot_be_a_plan_is_refused_with_its_problems() -> None:
    playground = KnownPlayground(refuses=PlanRejected("ranker", [Problem("a", "b")]))
    with asking(office=BackOffice(playground=playground)) as client:
        answer = client.post(PLAY, json={"request": REQUEST, "overrides": {"text": "a"}})
    assert (answer.status_code, answer.json()["problems"][0]["where"]) == (422, "a")


def test_a_wrong_override_names_its_place() -> None:
    playground = KnownPlayground(refuses=InvalidRequest("overrides.values[0].column", "no"))
    with asking(office=BackOffice(playground=playground)) as client:
        answer = client.post(PLAY, json={"request": REQUEST})
    assert (answer.status_code, answer.json()["field"]) == (400, "overrides.values[0].column")


def test_recordings_are_listed_and_told() -> None:
    recordings = KnownRecordings()
    with asking(office=BackOffice(recordings=recordings)) as client:
        assert client.get("/api/v1/recordings?last=5").json() == {"recordings": [LINE]}
        told = client.get("/api/v1/recordings/ab-1?item=7").json()
    assert told == {**LINE, "run": RUN, "item": None}
    assert recordings.asked == [5, ("ab-1", "7")]


def test_a_key_for_other_configs_sees_no_samples_nor_recordings() -> None:
    who = keys(("page*",), looker="view")
    office = BackOffice(playground=KnownPlayground(), recordings=KnownRecordings())
    with asking(gate=who.gate, office=office) as client:
        client.headers.update(who["looker"])
        assert client.get("/api/v1/samples?config=ranker").json() == {"samples": []}
        assert client.get("/api/v1/samples?config=page").json()["samples"] != []
        assert client.get("/api/v1/recordings").json() == {"recordings": []}
        assert client.get("/api/v1/recordings/p1-2").status_code == 404


def test_a_recording_that_is_gone_is_not_found() -> None:
    recordings = KnownRecordings(refuses=NotFound("recording", "ab-1"))
    with asking(office=BackOffice(recordings=recordings)) as client:
        assert client.get("/api/v1/recordings/ab-1").status_code == 404
        assert client.get("/api/v1/recordings?last=0").json()["field"] == "last"
