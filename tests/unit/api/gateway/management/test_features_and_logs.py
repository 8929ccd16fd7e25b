"""Routes of features, logs and settings."""

from __future__ import annotations

import pytest

from inferflow.api.gateway.management.ports import BackOffice, LogQuery
from inferflow.errors import NotFound, RowRejected

from ..behind import asking, keys
from .stand_ins import KnownFeatures, KnownLogs, KnownSettings

API = "/api/v1"


def test_the_schema_is_told_and_a_default_that_is_no_number_is_a_text() -> None:
    with asking(office=BackOffice(features=KnownFeatures())) as client:
        told = client.get(f"{API}/features").json()
    assert told["backend"] == "lmdb"
    assert told["entities"][0]["groups"][0]["features"][0]["default"] == "NaN"


def test_keys_are_looked_up_and_rows_written() -> None:
    features = KnownFeatures()
    rows = [{"key": ["7"], "values": {"age": 3}}]
    with asking(office=BackOffice(features=features)) as client:
        found = client.post(f"{API}/features/user/lookup", json={"keys": [["7"], [8]]}).json()
        done = client.put(f"{API}/features/user/profile", json={"rows": rows}).json()
    assert found["rows"][0]["groups"]["profile"]["values"] == {
        "age": {"value": 1.5, "state": "real"}
    }
    assert done == {"written": 1}
    assert features.asked == [("user", [["7"], [8]], []), ("user", "profile", rows)]


@pytest.mark.parametrize(
    ("error", "status"), [(NotFound("entity", "usr"), 404), (RowRejected("rows", 2, "no"), 400)]
)
def test_what_the_store_refuses_is_told(error: Exception, status: int) -> None:
    features = KnownFeatures(refuses=error)
    rows = [{"key": ["7"], "values": {"age": 3}}]
    with asking(office=BackOffice(features=features)) as client:
        assert client.put(f"{API}/features/usr/p", json={"rows": rows}).status_code == status
        body = {"keys": [["7"]]}
        assert client.post(f"{API}/features/usr/lookup", json=body).status_code == status


@pytest.mark.parametrize("body", [{"keys": []}, {"keys": [["7"]] * 1001}, {"keys": "7"}])
def test_keys_that_are_none_or_too_many_are_refused(body: dict[str, object]) -> None:
    with asking(office=BackOffice(features=KnownFeatures())) as client:
        answer = client.post(f"{API}/features/user/lookup", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, "keys")


def test_reading_features_is_not_writing_them() -> None:
    who, rows = keys(looker="view"), [{"key": ["7"], "values": {"age": 3}}]
    with asking(gate=who.gate, office=BackOffice(features=KnownFeatures())) as client:
        assert client.get(f"{API}/features", headers=who["looker"]).is_success
        put = client.put(f"{API}/features/user/p", json={"rows": rows}, headers=who["looker"])
        assert put.status_code == 403


def test_logs_are_asked_for_by_filter_and_page() -> None:
    logs = KnownLogs()
    query = "config=ranker&tracking_id=t&user=7&since_ms=5&limit=2&cursor=9-0"
    with asking(office=BackOffice(logs=logs)) as client:
        told = client.get(f"{API}/logs?{query}").json()
        counted = client.get(f"{API}/logs/stats").json()
        assert client.get(f"{API}/logs?limit=0").json()["field"] == "limit"
    assert logs.asked == [LogQuery("ranker", "t", "7", 5, 2, "9-0")]
    assert told["records"][0]["rows"] == [{"id": "1", "model:score": "+Inf"}]
    assert told["next"] == "5-1"
    assert counted["configs"][0]["requests"] == 3
    assert counted["unreadable"] == ["ranker/2026/a.parquet"]


def test_a_key_for_other_configs_sees_no_logs() -> None:
    who = keys(("page*",), looker="view")
    with asking(gate=who.gate, office=BackOffice(logs=KnownLogs())) as client:
        client.headers.update(who["looker"])
        assert client.get("/api/v1/logs").json()["records"] == []
        assert client.get("/api/v1/logs/stats").json() == {"configs": [], "unreadable": []}


def test_settings_are_shown_with_their_variables() -> None:
    with asking(office=BackOffice(settings=KnownSettings())) as client:
        told = client.get(f"{API}/settings").json()["settings"][0]
    assert (told["value"], told["environment"]) == ("***", ["ETCD_PASSWORD"])


@pytest.mark.parametrize("path", ["features", "logs", "settings", "models", "samples", "live"])
def test_a_part_that_is_not_there_is_not_found(path: str) -> None:
    with asking() as client:
        assert client.get(f"{API}/{path}").status_code == 404
