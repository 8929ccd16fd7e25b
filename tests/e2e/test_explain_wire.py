"""Explaining what a real server did: by the command, the client, gRPC and HTTP."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inferflow
from inferflow.client.sync import Client
from inferflow.demo import write_shop
from inferflow.errors import InvalidInput, InvalidRequest, NotFound, PermissionDenied

from .conftest import Shell
from .serving_process import Process, start

BROKEN = '{"broken": {"dag_execution_config": {}}}'
HOME = '{"home": {"ab": {"ranker": 50, "ranker_diverse": 50}}}'
FAILS = 'no_blend: "purchase / (price - price) + click"\n'
STRICT = """        compute_id: no_blend
        on_error: fail
        domain_errors: fail"""
EVENING = {"hour": 20}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained") / "shop"
    write_shop(folder)
    (folder / "configs" / "home.json").write_text(HOME)
    (folder / "configs" / "broken.json").write_text(BROKEN)
    with (folder / "expressions.yaml").open("a") as expressions:
        expressions.write(FAILS)
    ranker = (folder / "configs" / "ranker.yaml").read_text("utf-8")
    failing = ranker.replace("\nranker:\n", "\nfailing:\n")
    failing = failing.replace("        compute_id: shop_blend", STRICT)
    (folder / "configs" / "failing.yaml").write_text(failing, "utf-8")
    return folder


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[Process]:
    process = start(shop)
    yield process
    process.close()


@pytest.fixture(scope="module")
def flow(shop: Path) -> Iterator[inferflow.Flow]:
    with inferflow.open(shop) as flow:
        yield flow


@pytest.fixture(scope="module")
def client(server: Process) -> Iterator[Client]:
    with inferflow.connect(f"127.0.0.1:{server.port}") as client:
        yield client


def request(shop: Path, name: str = "ranker_guest") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((shop / f"requests/{name}.json").read_text())
    document.pop("expect", None)
    document.pop("tolerance", None)
    return document


def shape(text: str) -> list[str]:
    """Lines without what differs from run to run: times, ages, bars, and where ids came from."""
    lines = []
    for line in text.splitlines():
        if "entities." in line or line.startswith("step "):
            continue
        cut = re.sub(r"█+|\d[\d.,]* (µs|ms|s|min|h)\b|\b\d+ cache hits?", "", line)
        lines.append(re.sub(r"^(\w+) +\d+ +\d+ ", r"\1 ", re.sub(r" +", " ", cut)).rstrip())
    return lines


@pytest.mark.parametrize("name", ["ranker_guest", "ranker_diverse", "pairs", "page"])
def test_a_server_explains_as_the_project_itself_does(
    client: Client, flow: inferflow.Flow, shop: Path, name: str
) -> None:
    asked = request(shop, name)
    config_id = asked["model_config_id"]
    there, here = client.explain(config_id, asked), flow.explain(config_id, asked)
    assert shape(str(there)) == shape(str(here))
    target = next(reversed(asked["entities"].values()))[1]
    assert shape(str(there.item(target))) == shape(str(here.item(target)))
    assert there.to_dict().keys() == here.to_dict().keys()


def test_a_request_that_asked_is_explained_by_what_really_happened(
    client: Client, server: Process
) -> None:
    scores = client.score("ranker", user="7", product=["28", "1950"], context=EVENING, explain=True)
    status, body = server.get(f"/recordings/{scores.recording}")
    found = json.loads(body)
    assert status == 200
    assert (found["kept_because"], found["rows"], found["has_values"]) == ("asked", 2, True)
    assert found["config_version"] == scores.config_version
    assert scores.explain().to_dict() == found["run"]
    assert client.explanation(scores.recording).to_dict() == found["run"]
    [row] = scores.explain().item("1950").to_dict()["rows"]
    assert row["scores"]["blend:final_score"] == pytest.approx(scores["blend:final_score"][1])


def test_scores_that_were_not_recorded_are_explained_by_asking_again(client: Client) -> None:
    scores = client.score("ranker", user="7", product=["28", "1950"], context=EVENING)
    assert scores.recording == ""
    assert "2 targets" in str(scores.explain())


def test_an_asyncio_client_explains_too(server: Process) -> None:
    async def asked() -> None:
        async with await inferflow.aconnect(f"127.0.0.1:{server.port}") as client:
            scores = await client.score(
                "ranker", user="7", product=["28", "1"], context=EVENING, explain=True
            )
            explanation = await scores.explain()
            assert "2 targets" in str(explanation)
            with pytest.raises(InvalidInput, match=r"await client\.explanation"):
                explanation.item("28")
            item = await client.explanation(scores.recording, "28")
            assert "28: target 1 of 2" in str(item)

    asyncio.run(asked())


def test_a_split_is_explained_as_the_arm_that_answered(client: Client, server: Process) -> None:
    scores = client.score("home", user="7", product=["28", "1950"], context=EVENING, explain=True)
    found = json.loads(server.get(f"/recordings/{scores.recording}")[1])
    assert found["model_config_id"] == "home"
    assert found["arm"] == found["run"]["model_config_id"] == scores.arm


def test_what_is_not_kept_or_not_in_it_is_told(client: Client) -> None:
    with pytest.raises(NotFound, match="no recording 'beef-1'"):
        client.explanation("beef-1")
    scores = client.score("ranker", user="7", product=["28"], context=EVENING, explain=True)
    with pytest.raises(InvalidRequest, match="no target '29'"):
        scores.explain().item("29")


def test_refused_calls_are_listed_with_the_id_their_caller_was_told(
    client: Client, server: Process
) -> None:
    with pytest.raises(NotFound):
        client.score("nothing", user="7", product=["28"])
    newest = client.recordings(1)[0]
    assert (newest["kept_because"], newest["error"]) == ("failed", "NotFound")
    assert newest["model_config_id"] == "nothing"
    assert "refused before anything was scored" in str(client.explanation(newest["recording"]))
    listed = json.loads(server.get("/recordings")[1])
    assert newest in listed
    assert [each["at_ms"] for each in listed] == sorted(
        (each["at_ms"] for each in listed), reverse=True
    )


def test_configs_are_told_with_what_serves_and_what_is_wrong(
    client: Client, server: Process
) -> None:
    configs = {each["id"]: each for each in client.configs()}
    assert list(configs.values()) == json.loads(server.get("/configs")[1])
    ranker, broken, home = configs["ranker"], configs["broken"], configs["home"]
    assert (ranker["state"], ranker["version"], ranker["origin"]) == ("serving", 1, "edit")
    assert (
        ranker["plan"]
        == client.score("ranker", user="7", product=["1"], context=EVENING).config_version
    )
    assert (broken["state"], broken["version"]) == ("refused", 0)
    assert broken["errors"] == sum(each["severity"] == "error" for each in broken["problems"]) > 0
    assert home["split"] == {"ranker": 50.0, "ranker_diverse": 50.0}


def test_the_command_tells_how_configs_stand(shell: Shell, server: Process) -> None:
    told = shell(f"inferflow config status --target 127.0.0.1:{server.port}", code=1).stdout
    rows = {line.split()[0]: line for line in told.splitlines() if line.strip()}
    assert re.search(r"serving +1 .* edit", rows["ranker"])
    assert "ranker 50 %, ranker_diverse 50 %" in rows["home"]
    assert " refused " in rows["broken"]
    assert re.search(r"broken: \d+ error\(s\)\n  \S", told)


def test_the_command_explains_what_a_server_did(shell: Shell, shop: Path, server: Process) -> None:
    asked = f"--target 127.0.0.1:{server.port} --request {shop}/requests/ranker_guest.json"
    text = shell(f"inferflow explain ranker {asked} --item 28").stdout
    assert "fs_user" in text
    assert "28: target 9 of 12" in text
    assert json.loads(shell(f"inferflow explain ranker {asked} --json").stdout)["targets"] == 12
    listed = shell(f"inferflow explain --last --top 1 --target 127.0.0.1:{server.port}").stdout
    recording = listed.splitlines()[1].split()[0]
    again = shell(f"inferflow explain --recording {recording} -t 127.0.0.1:{server.port}").stdout
    assert "ranker: 12 targets" in again
    kept = shell(f"inferflow explain --last --json -t 127.0.0.1:{server.port}").stdout
    assert json.loads(kept)[0]["recording"] == recording


def test_a_request_that_fails_is_shown_up_to_where_it_failed(
    shell: Shell, shop: Path, server: Process
) -> None:
    asked = f"-e user=7 -e product=1,2 -c hour=20 -t 127.0.0.1:{server.port}"
    done = shell(f"inferflow explain failing {asked}", code=1)
    assert "failed: step 'blend'" in done.stdout
    assert "division by zero" in done.stdout
    assert "click_model" in done.stdout


def test_where_explain_is_off_calls_are_answered_and_the_reason_is_told(
    shell: Shell, shop: Path
) -> None:
    process = start(shop, INFERFLOW_EXPLAIN="off", APP_LOG_LEVEL="debug")
    try:
        with inferflow.connect(f"127.0.0.1:{process.port}") as client:
            scores = client.score(
                "ranker", user="who-asks", product=["28"], context=EVENING, explain=True
            )
            assert len(scores) == 1
            with pytest.raises(PermissionDenied, match="explain is off"):
                scores.explain()
            with pytest.raises(PermissionDenied, match="explain is off"):
                client.recordings()
            assert "problems" not in client.configs()[0]
        assert process.get("/recordings")[0] == 403
        refused = shell(f"inferflow explain --last -t 127.0.0.1:{process.port}", code=1)
        assert refused.stderr == "error: explain is off on this server\n"
        assert process.popen.stderr is not None
        process.popen.terminate()
        written = process.popen.stderr.read()
    finally:
        process.close()
    [line] = [each for each in map(json.loads, written.splitlines()) if each["event"] == "call"]
    assert (line["config_id"], line["status"], line["level"]) == ("ranker", 0, "debug")
    assert re.fullmatch("[0-9a-f]{16}", line["request_id"])
    assert "who-asks" not in written


def test_any_of_several_processes_tells_what_another_holds(shop: Path) -> None:
    process = start(shop, "--processes", "2")
    try:
        recordings = set()
        while len({recording.partition("-")[0] for recording in recordings}) < 2:
            # Each connection is taken by one of the processes.
            with inferflow.connect(f"127.0.0.1:{process.port}") as client:
                scores = client.score(
                    "ranker", user="7", product=["28", "1"], context=EVENING, explain=True
                )
                recordings.add(scores.recording)
        for _ in range(4):
            with inferflow.connect(f"127.0.0.1:{process.port}") as client:
                for recording in recordings:
                    assert "28: target 1 of 2" in str(client.explanation(recording).item("28"))
                assert {each["recording"] for each in client.recordings()} >= recordings
                assert {each["id"] for each in client.configs()} >= {"ranker", "broken"}
        for recording in recordings:
            assert json.loads(process.get(f"/recordings/{recording}")[1])["rows"] == 2
    finally:
        process.end()
