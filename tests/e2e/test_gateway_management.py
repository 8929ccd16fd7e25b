"""The management routes of a real `inferflow up` with a fleet: each once as it should be, and once
as it should not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as connect_socket

from inferflow.app.scaffold import write_starter

from .fleet_process import Role, start, until
from .gateway_process import start_gateway
from .serving_process import start as start_server

API = "/api/v1"
QUIET = {
    "INFERFLOW_FLEET_ENABLED": "true",
    "INFERFLOW_GATEWAY_PORT": "0",
    "INFERFLOW_GATEWAY_DRAIN_PAUSE": "0ms",
    "INFERFLOW_DRAIN_PAUSE": "0ms",
    "INFERFLOW_MANAGER_PORT": "0",
    "INFERFLOW_MANAGER_HTTP_PORT": "0",
    "INFERFLOW_WORKER_PORT": "0",
    "INFERFLOW_WORKER_HTTP_PORT": "0",
    "INFERFLOW_LOGS_SINK": "files",
    "INFERFLOW_LOGS_ROTATE_AFTER": "200ms",
}
LOGGED = "response_config:\n    logging_perc: 100\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("managed") / "books"
    write_starter(folder)
    config = folder / "configs/ranker.yaml"
    config.write_text(config.read_text().replace("response_config:\n", LOGGED))
    return folder


@pytest.fixture(scope="module")
def up(project: Path) -> Iterator[Role]:
    role = start("up", project, "--port", "0", "--http-port", "0", **QUIET)
    yield role
    assert role.end() == 0


@pytest.fixture(scope="module")
def client(up: Role) -> Iterator[httpx.Client]:
    url = re.search(r"gateway  (\S+)\n", up.said)[1]  # type: ignore[index]
    with httpx.Client(base_url=url, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def text(project: Path) -> str:
    return (project / "configs/ranker.yaml").read_text()


@pytest.fixture
def live(client: httpx.Client) -> Iterator[ClientConnection]:
    url = str(client.base_url).replace("http", "ws", 1).rstrip("/")
    with connect_socket(f"{url}{API}/live") as socket:
        yield socket


REQUEST = {"entities": {"user": "ada", "book": ["1", "2", "3"]}}


def got(client: httpx.Client, path: str) -> Any:
    answer = client.get(API + path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.json()


def event(socket: ClientConnection, kind: str, what: str) -> Any:
    """The next event of this kind."""
    while True:
        message = json.loads(socket.recv(timeout=20))
        found = message["events"] if message["type"] == "history" else [message]
        for each in found:
            if each.get("kind") == kind and each["what"] == what:
                return each


def test_a_gateway_says_which_parts_it_has(client: httpx.Client) -> None:
    me = got(client, "/me")
    assert me["auth"] == "off"
    assert all(me["parts"].values())


def test_a_config_is_read_with_its_plan_and_history(client: httpx.Client, text: str) -> None:
    assert [each["id"] for each in got(client, "/configs")["configs"]] == ["ranker"]
    assert got(client, "/configs/ranker")["text"] == text
    assert {node["id"] for node in got(client, "/configs/ranker/plan")["nodes"]} >= {"pick"}
    assert got(client, "/configs/ranker/history")["versions"]
    assert got(client, "/configs/ranker/versions/1")["text"] == text
    for path in ("", "/plan", "/history", "/versions/1", "/diff?from=1&to=1"):
        problem(client.get(f"{API}/configs/rankr{path}"), 404)


def test_a_bad_text_is_shown_where_it_is_wrong_and_not_published(
    client: httpx.Client, text: str
) -> None:
    bad = text.replace("compute_id: pick", "compute_id: pock")
    body = {"text": bad, "format": "yaml"}
    validated = client.post(f"{API}/configs/validate", json=body).json()
    (found,) = [each for each in validated["problems"] if each["severity"] == "error"]
    assert bad.splitlines()[found["line"] - 1].strip() == "compute_id: pock"
    assert client.post(f"{API}/configs/ranker/check", json=body).json()["ok"] is False
    refused = problem(client.put(f"{API}/configs/ranker", json=body), 422)
    assert refused["problems"][0]["line"] == found["line"]
    assert got(client, "/configs/ranker")["text"] == text


def test_a_published_config_comes_live_and_can_be_rolled_back(
    client: httpx.Client, text: str, live: ClientConnection
) -> None:
    before = got(client, "/configs/ranker")["version"]
    better = text.replace("      - like_model:like\n", "")
    body: dict[str, Any] = {"text": better, "expected_version": before, "note": "shorter"}
    checked = client.post(f"{API}/configs/ranker/check", json={"text": better}).json()
    assert (checked["ok"], checked["golden"][0]["passed"]) == (False, False)
    assert "golden" in problem(client.put(f"{API}/configs/ranker", json=body), 422)
    body["force"] = True
    made = client.put(f"{API}/configs/ranker", json=body).json()["version"]
    assert (made["number"], made["author"], made["checks"]) == (before + 1, "gateway", "forced")
    event(live, "config_live", "ranker")
    scored = client.post("/v1/score/ranker", json=REQUEST).json()
    assert "like_model:like" not in scored["columns"]
    assert problem(client.put(f"{API}/configs/ranker", json=body), 409)["current"] == before + 1
    lines = got(client, f"/configs/ranker/diff?from={before}&to={before + 1}")["lines"]
    assert "-      - like_model:like" in lines
    back = {"to": before, "expected_version": before + 1}
    assert client.post(f"{API}/configs/ranker/rollback", json=back).status_code == 200
    problem(client.post(f"{API}/configs/ranker/rollback", json=back), 409)
    until(lambda: got(client, "/configs/ranker")["status"]["version"] == before + 2)
    assert got(client, "/configs/ranker")["text"] == text


def test_what_if_changes_scores_and_no_stored_row(client: httpx.Client) -> None:
    (sample,) = got(client, "/samples?config=ranker")["samples"]
    keys = {"user": [["ada"]], "book": [[book] for book in sample["request"]["entities"]["book"]]}

    def stored() -> list[Any]:
        return [
            client.post(f"{API}/features/{entity}/lookup", json={"keys": wanted}).json()
            for entity, wanted in keys.items()
        ]

    before = stored()
    values = [{"column": "user:profile:likes_new", "id": None, "value": 1.0}]
    body = {"request": sample["request"], "item": "1", "overrides": {"values": values}}
    played = client.post(f"{API}/playground/ranker", json=body).json()
    assert played["answer"]["targets"] != played["baseline"]["targets"]
    assert played["matrix"]["rows"] == len(keys["book"])
    (row,) = played["item"]["rows"]
    states = {each["column"]: each["state"] for each in row["columns"]}
    assert states["user:profile:likes_new"] == "pinned"
    assert stored() == before
    values[0]["column"] = "user:profile:likes_ne"
    wrong = problem(client.post(f"{API}/playground/ranker", json=body), 400)
    assert wrong["field"] == "overrides.values[0].column"


def test_a_recorded_request_is_found_again(client: httpx.Client) -> None:
    scored = client.post("/v1/score/ranker?explain=true", json=REQUEST).json()
    assert scored["recording"] in [
        each["recording"] for each in got(client, "/recordings?last=5")["recordings"]
    ]
    told = got(client, f"/recordings/{scored['recording']}?item=2")
    assert told["item"]["item"] == "2"
    problem(client.get(f"{API}/recordings/{scored['recording']}?item=99"), 400)
    problem(client.get(f"{API}/recordings/abcd-99"), 404)


def test_a_model_is_uploaded_promoted_and_deleted(
    client: httpx.Client, project: Path, live: ClientConnection
) -> None:
    content = (project / "models/like_model/1/model.onnx").read_bytes()
    assert [each["name"] for each in got(client, "/models")["models"]] == ["like_model"]
    made = client.post(f"{API}/models/like_model/versions", files={"file": ("m.onnx", content)})
    assert (made.status_code, made.json()["version"]) == (200, "2")
    event(live, "model_uploaded", "like_model@2")
    nonsense = {"file": ("m.onnx", b"nonsense")}
    refused = problem(client.post(f"{API}/models/like_model/versions", files=nonsense), 400)
    assert "not ONNX" in refused["detail"]
    promote = f"{API}/models/like_model/versions/2/promote"
    assert client.post(promote, json={"stage": "staging"}).json()["stage"] == "staging"
    event(live, "model_promoted", "like_model@2")
    problem(client.post(promote, json={"stage": "heaven"}), 400)
    traffic = f"{API}/models/like_model/traffic"
    problem(client.put(traffic, json={"9": 100}), 404)
    assert client.put(traffic, json={}).json()["traffic"] == {}
    archived = {"stage": "archived", "reason": "only a test"}
    assert client.post(promote, json=archived).status_code == 200
    assert client.delete(f"{API}/models/like_model/versions/2").json() == {"done": True}
    problem(client.delete(f"{API}/models/like_model/versions/2"), 404)
    assert len(got(client, "/models/like_model")["versions"]) == 1
    problem(client.get(f"{API}/models/other"), 404)


def test_keys_are_made_shown_once_and_revoked(client: httpx.Client, live: ClientConnection) -> None:
    body = {"name": "shop", "permissions": ["inference"], "rate": {"per_second": 5}}
    made = client.post(f"{API}/keys", json=body).json()
    key_id, secret = made["key"]["key_id"], made["text"]
    event(live, "key_created", key_id)
    listed = client.get(f"{API}/keys")
    assert key_id in [each["key_id"] for each in listed.json()["keys"]]
    assert secret not in listed.text
    assert client.delete(f"{API}/keys/{key_id}").json()["revoked_ms"] > 0
    event(live, "key_revoked", key_id)
    problem(client.delete(f"{API}/keys/nobody"), 404)
    problem(client.post(f"{API}/keys", json={"name": "x", "permissions": ["fly"]}), 400)
    entries = got(client, "/audit?limit=2")["entries"]
    assert [each["action"] for each in entries] == ["key revoked", "key created"]


def test_workers_are_listed_and_one_that_is_not_there_cannot_leave(client: httpx.Client) -> None:
    (worker,) = got(client, "/workers")["workers"]
    assert worker["state"] == "online"
    problem(client.post(f"{API}/workers/nobody/drain"), 404)


def test_features_are_described_looked_up_and_written(client: httpx.Client) -> None:
    schema = got(client, "/features")
    assert schema["backend"] == "lmdb"
    assert [each["name"] for each in schema["entities"]] == ["user", "book"]
    rows = [{"key": ["new"], "values": {"likes_new": 0.25}}]
    put = f"{API}/features/user/profile"
    assert client.put(put, json={"rows": rows}).json() == {"written": 1}
    look = f"{API}/features/user/lookup"
    (row,) = client.post(look, json={"keys": [["new"]]}).json()["rows"]
    assert row["groups"]["profile"]["values"]["likes_new"] == {"value": 0.25, "state": "real"}
    wrong = [*rows, {"key": ["other"], "values": {"likes_new": "much"}}]
    problem(client.put(put, json={"rows": wrong}), 400)
    (row,) = client.post(look, json={"keys": [["other"]]}).json()["rows"]
    assert row["groups"]["profile"]["state"] == "missing"
    problem(client.post(f"{API}/features/usr/lookup", json={"keys": [["7"]]}), 404)


def test_what_was_inferred_is_logged_and_browsed(client: httpx.Client) -> None:
    client.post("/v1/score/ranker", json={**REQUEST, "tracking_id": "mine"})
    found = until(lambda: got(client, "/logs?config=ranker&tracking_id=mine")["records"])
    assert [row["id"] for row in found[0]["rows"]] == ["1", "2", "3"]
    assert got(client, "/logs?user=nobody")["records"] == []
    (counted,) = got(client, "/logs/stats")["configs"]
    assert counted["requests"] >= 1
    problem(client.get(f"{API}/logs?cursor=x"), 400)


def test_settings_are_shown_with_where_they_come_from(client: httpx.Client) -> None:
    told = {each["name"]: each for each in got(client, "/settings")["settings"]}
    assert told["logs.sink"]["value"] == "files"
    assert told["logs.sink"]["source"] == "environment INFERFLOW_LOGS_SINK"


def test_requests_show_in_the_live_numbers(client: httpx.Client, live: ClientConnection) -> None:
    history = json.loads(live.recv(timeout=20))
    assert history["type"] == "history"
    client.post("/v1/score/ranker", json=REQUEST)

    def seen() -> Any:
        message = json.loads(live.recv(timeout=20))
        return message if message.get("configs", {}).get("ranker", {}).get("rate") else None

    numbers = until(seen)
    assert numbers["overview"]["p50_ms"] > 0
    assert numbers["configs"]["ranker"]["nodes"]["like_model"]["rate"] > 0
    assert numbers["workers"][0]["state"] == "online"
    assert got(client, "/live")["type"] == "metrics"


# --- a gateway apart ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A gateway in the folder of a project that another process serves."""
    folder = tmp_path_factory.mktemp("apart") / "books"
    write_starter(folder)
    server = start_server(folder)
    gateway = start_gateway(
        str(folder),
        *("--target", f"127.0.0.1:{server.port}"),
        INFERFLOW_GATEWAY_METRICS_FROM=f"{server.http}/metrics",
    )
    yield gateway.http
    assert gateway.end() == 0
    server.close()


def test_a_gateway_apart_manages_what_another_process_serves(apart: httpx.Client) -> None:
    told = got(apart, "/configs/ranker")
    assert (told["status"]["state"], told["version"]) == ("serving", 1)
    body = {"text": told["text"] + "# from afar\n", "expected_version": 1}
    assert apart.put(f"{API}/configs/ranker", json=body).status_code == 200
    until(lambda: got(apart, "/configs/ranker")["status"]["version"] == 2)
    rows = [{"key": ["ada"], "values": {"likes_new": 0.0}}]
    request = {"request": REQUEST}
    before = apart.post(f"{API}/playground/ranker", json=request).json()["answer"]["targets"]
    assert apart.put(f"{API}/features/user/profile", json={"rows": rows}).is_success
    played = apart.post(f"{API}/playground/ranker", json=request).json()["answer"]["targets"]
    scored = apart.post("/v1/score/ranker?explain=true", json=REQUEST).json()
    assert played == scored["targets"] != before
    assert got(apart, f"/recordings/{scored['recording']}")["run"]["steps"]
    until(lambda: got(apart, "/live")["configs"].get("ranker", {}).get("rate") is not None)


def test_parts_it_does_not_have_say_how_to_have_them(apart: httpx.Client) -> None:
    assert got(apart, "/me")["parts"]["fleet"] is False
    assert "INFERFLOW_MANAGER" in problem(apart.get(f"{API}/models"), 404)["hint"]
    assert got(apart, "/logs")["sink"] == "off"
