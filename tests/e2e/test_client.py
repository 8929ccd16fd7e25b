"""The Python client against real servers: it answers as the project itself does."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import inferflow
from inferflow.client.sync import Client
from inferflow.demo import write_shop
from inferflow.errors import DeadlinePassed, InvalidRequest, NotFound, PlanRejected, Unreachable
from inferflow.scores import Table

from ..robustness.scenario import StartScenario
from .conftest import Shell
from .serving_process import Process, launch, start
from .wire_client import document

GOLDEN = ["ranker", "ranker_guest", "ranker_diverse", "pairs", "page"]
BROKEN = '{"broken": {"dag_execution_config": {}}}'
HOME = '{"home": {"ab": {"ranker": 50, "ranker_diverse": 50}}}'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    write_shop(folder)
    (folder / "configs" / "home.json").write_text(HOME)
    (folder / "configs" / "broken.json").write_text(BROKEN)
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


def restarted(folder: Path, port: int) -> Process:
    """A server on a port that another has just left."""
    popen = launch(folder, "--port", str(port), "--http-port", "0")
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    assert lines[-1] == "ready\n", lines
    return Process(popen, port, "")


def assert_same(remote: inferflow.Scores, embedded: inferflow.Scores) -> None:
    """Every fact and every bit."""
    assert remote.to_dict() == embedded.to_dict()
    assert_same_table(remote.targets, embedded.targets)
    assert (remote.groups is None) is (embedded.groups is None)
    if remote.groups is not None and embedded.groups is not None:
        assert_same_table(remote.groups, embedded.groups)


def assert_same_table(remote: Table, embedded: Table) -> None:
    for name, expected in embedded.columns.items():
        got = remote.columns[name]
        assert got.dtype is expected.dtype
        if expected.blank is None and not expected.dtype.is_text:
            assert got.values.tobytes() == np.ascontiguousarray(expected.values).tobytes()


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_request_has_the_scores_of_the_project_itself(
    client: Client, flow: inferflow.Flow, shop: Path, name: str
) -> None:
    golden = document(shop, name)
    assert_same(client.answer(golden), flow.answer(golden))


@pytest.mark.parametrize(
    "arguments",
    [
        {"user": "7", "product": ["1"]},
        {"user": 7, "product": "1"},
        {"user": "7", "product": np.arange(1, 300)},
        {"user": "nobody", "product": ["1", "no such product"]},
        {"entities": {"context:user:user_id": "7", "product_id": ["1", "2"]}},
        {
            "user": "7",
            "product": ["1", "2"],
            "features": {
                "product": {"attributes:price": [5.0, 6.5], "attributes:on_sale": True},
                "user": {"user:profile:age": np.int8(20)},
            },
        },
    ],
)
def test_keywords_mean_the_same_on_both_sides(
    client: Client, flow: inferflow.Flow, arguments: dict[str, Any]
) -> None:
    context = {"hour": np.int16(20)}
    assert_same(
        client.score("ranker", context=context, **arguments),
        flow.score("ranker", context=context, **arguments),
    )


def test_pairs_and_slates_mean_the_same_on_both_sides(client: Client, flow: inferflow.Flow) -> None:
    products = ["2", "25", "28"]
    pairs: Any = {"pairs": [[0, 1], [2, 0]], "pair_features": {"position_gap": [1.5, -2]}}
    assert_same(
        client.score_pairs("pairs", product=products, **pairs),
        flow.score_pairs("pairs", product=products, **pairs),
    )
    slates: Any = {
        "slates": [[0, 1, 2], [2]],
        "slate_features": {"visibility": 0.5},
        "context": {"hour": 3},
    }
    assert_same(
        client.score_slates("page", user="7", product=products, **slates),
        flow.score_slates("page", user="7", product=products, **slates),
    )


def test_frames_go_in_and_come_out(client: Client, flow: inferflow.Flow) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "attributes:price": [5.0, 6.5, 1.0]})
    found = client.score(
        "ranker",
        user="7",
        product=frame["id"],
        context={"hour": 20},
        features={"product": frame[["attributes:price"]]},
    ).to_pandas()
    assert list(found.index) == ["1", "2", "3"]
    assert found["product:attributes:price"].tolist() == [5.0, 6.5, 1.0]
    prices = {"product": {"attributes:price": [5.0, 6.5, 1.0]}}
    expected = flow.score(
        "ranker", user="7", product=["1", "2", "3"], context={"hour": 20}, features=prices
    )
    pd.testing.assert_frame_equal(found, expected.to_pandas())


def test_text_values_have_the_same_scores(server: Process, flow: inferflow.Flow) -> None:
    request: Any = {"user": "7", "product": ["1", "2"], "context": {"hour": 20}}
    with inferflow.connect(f"127.0.0.1:{server.port}", values="text") as client:
        assert_same(client.score("ranker", **request), flow.score("ranker", **request))


def test_the_arm_is_the_one_the_project_would_choose(client: Client, flow: inferflow.Flow) -> None:
    met = set()
    for user in range(20):
        request: Any = {"user": str(user), "product": ["1", "2"], "context": {"hour": 20}}
        scores = client.score("home", **request)
        assert_same(scores, flow.score("home", **request))
        met.add(scores.arm)
    assert met == {"ranker", "ranker_diverse"}
    request = {"user": "1", "product": ["1"], "context": {"hour": 20}}
    by_header = {client.score("home", for_user=str(n), **request).arm for n in range(20)}
    assert by_header == met


def test_an_async_client_has_many_calls_under_way(
    server: Process, flow: inferflow.Flow, shop: Path
) -> None:
    golden = document(shop, "ranker")

    async def asked() -> list[inferflow.Scores]:
        async with await inferflow.aconnect(f"127.0.0.1:{server.port}") as client:
            return await asyncio.gather(*[client.answer(golden) for _ in range(50)])

    expected = flow.answer(golden)
    for scores in asyncio.run(asked()):
        assert_same(scores, expected)


def test_refusals_are_our_errors_with_the_servers_words(client: Client) -> None:
    for config_id, request, kind, what in (
        ("nobody", {"product": ["1"]}, NotFound, "no model config 'nobody'"),
        ("broken", {"product": ["1"]}, PlanRejected, "'broken' is not live"),
        ("ranker", {"user": "7", "product": ["1"]}, InvalidRequest, "'hour' is not given"),
        (
            "pairs",
            {"product": [str(n) for n in range(10_001)]},
            InvalidRequest,
            "more than the limit",
        ),
        ("pairs", {"product": ["x" * 17_000_000]}, InvalidRequest, "larger than max"),
    ):
        with pytest.raises(kind, match=what):
            client.score(config_id, **request)


def test_a_deadline_is_kept(client: Client) -> None:
    many = [str(n) for n in range(5000)]
    with pytest.raises(DeadlinePassed):
        client.score("ranker", user="7", product=many, context={"hour": 20}, deadline_ms=1)


def test_a_server_that_comes_back_is_found_again(shop: Path) -> None:
    golden = document(shop, "ranker")
    process = start(shop)
    address = f"127.0.0.1:{process.port}"
    with (
        inferflow.connect(address, attempts=2) as hasty,
        inferflow.connect(address, attempts=1000, deadline_ms=60_000) as patient,
    ):
        before = patient.answer(golden)
        hasty.answer(golden)
        process.end(signal.SIGKILL)
        with pytest.raises(Unreachable, match=f"{address}, tried 2 times"):
            hasty.answer(golden)
        again = restarted(shop, process.port)
        try:
            assert_same(patient.answer(golden), before)
        finally:
            again.close()


@pytest.mark.robustness
def test_of_several_servers_one_may_die_and_one_may_leave(
    shop: Path, scenario: StartScenario
) -> None:
    tried = scenario("A10", "of three orchestrators one killed and one asked to end")
    answers = []
    golden = document(shop, "ranker")
    servers = [start(shop) for _ in range(3)]
    addresses = [f"127.0.0.1:{server.port}" for server in servers]
    try:
        with inferflow.connect(addresses) as client:
            expected = client.answer(golden).to_dict()
            for turn in range(30):
                if turn == 10:
                    servers[0].end(signal.SIGKILL)
                if turn == 20:
                    servers[1].popen.send_signal(signal.SIGTERM)
                answers.append(client.answer(golden).to_dict())
        wrong = [each for each in answers if each != expected]
        tried.none("answer is otherwise", wrong, of=len(answers))
    finally:
        for server in servers:
            server.close()


def test_the_command_asks_a_server(server: Process, flow: inferflow.Flow, shell: Shell) -> None:
    command = "inferflow score ranker -e user=7 -e product=1,2,3 -c hour=20"
    address = f"--target 127.0.0.1:{server.port}"
    found = json.loads(shell(f"{command} {address} --json").stdout)
    expected = flow.score("ranker", user="7", product=["1", "2", "3"], context={"hour": 20})
    assert found["columns"] == expected.to_dict()["columns"]
    assert found["ranking"] == expected.ranked()
    assert shell(f"{command} {address} --top 1").stdout.count("\n") == 2
    refused = shell(f"{command} --target 127.0.0.1:1", code=1).stderr
    assert refused.startswith("error: no server answered at 127.0.0.1:1, tried 5 times: ")
