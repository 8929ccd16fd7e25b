"""A project whose models run on another host: the same answers, and what happens without it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import inferflow
from inferflow.app.catalog import ProjectCatalog
from inferflow.app.checking import check_project
from inferflow.app.flow import Flow
from inferflow.app.golden import run_requests
from inferflow.app.pinned import ModelPin, PinnedModels, pins_of
from inferflow.app.project import read_project
from inferflow.app.settings import read_settings
from inferflow.app.wiring import open_models
from inferflow.client.oip import signatures
from inferflow.demo.shop import write_shop
from inferflow.engine.request import request_from
from inferflow.plan.compiler import compile_config
from inferflow.plan.document import read_document
from inferflow.plan.plan import Plan
from inferflow.serving.runtime import EmbeddedModels, ModelRepository

from ...servers.open_inference import InferResponse, OipServer, answered, models_of, serving

ENDPOINT = "outputs: {score_columns: [like]}"
LIKE = {"user": "ada", "book": ["1", "2", "3"]}


@pytest.fixture
def models(starter: Path) -> Iterator[EmbeddedModels]:
    opened = EmbeddedModels(ModelRepository(starter / "models"))
    yield opened
    opened.close()


@pytest.fixture
def server(models: EmbeddedModels) -> Iterator[OipServer]:
    with serving(OipServer(models_of(models))) as running:
        yield running


def sent_to(starter: Path, endpoint: str, **more: Any) -> None:
    """Have the starter's model run there."""
    path = starter / "configs/ranker.yaml"
    text = path.read_text()
    line = "".join(f"{key}: {value}\n        " for key, value in more.items())
    path.write_text(
        text.replace(ENDPOINT, f'model_endpoint: "{endpoint}"\n        {line}{ENDPOINT}')
    )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shop") / "shop"
    write_shop(root)
    return root


@pytest.mark.parametrize("name", ["ranker", "ranker_guest", "ranker_diverse", "pairs", "page"])
def test_point_wise_pairs_and_slates_are_answered_bit_for_bit_as_in_this_process(
    shop: Path, name: str
) -> None:
    request = request_from(read_document(shop / "requests" / f"{name}.json"))
    here = EmbeddedModels(ModelRepository(shop / "models"))
    with (
        serving(OipServer(models_of(here))) as server,
        inferflow.open(shop) as near,
        inferflow.open(shop, settings={"endpoints": {"": server.address}}) as far,
    ):
        ours, theirs = near.answer(request), far.answer(request)
        assert server.requests
    here.close()
    for mine, other in ((ours.targets, theirs.targets), (ours.groups, theirs.groups)):
        if mine is None:
            assert other is None
            continue
        assert other is not None
        assert mine.errors == other.errors
        for column, values in mine.columns.items():
            np.testing.assert_array_equal(other.columns[column].values, values.values)


def test_rows_are_cut_into_batches_and_put_back_in_their_places(
    starter: Path, server: OipServer
) -> None:
    with inferflow.open(starter) as flow:
        whole = flow.score("ranker", **LIKE)["like_model:like"].tolist()
    sent_to(starter, server.address, batch_size=1)
    with inferflow.open(starter) as flow:
        cut = flow.score("ranker", **LIKE)["like_model:like"].tolist()
    assert cut == whole
    assert len(server.requests) == 3


def test_batches_of_one_request_are_under_way_together(starter: Path, server: OipServer) -> None:
    sent_to(starter, server.address, batch_size=1)
    model, together = server.models["like_model"], threading.Barrier(3, timeout=30)

    def infer(request: Any, context: Any) -> bytes:
        together.wait()
        return answered(request, model)

    server.infer = infer
    with inferflow.open(starter) as flow:
        scores = flow.answer({**flow_request(), "deadline_ms": 60_000})
    assert not any(scores.errors)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("refused", "answered INVALID_ARGUMENT: not this one"),
        ("short", "output 'like' has 0 row(s) for 1 row(s)"),
        ("long", "output 'like' has 2 row(s) for 1 row(s)"),
        ("bytes", "output 'like': 3 bytes where FP32 [1, 1] takes 4"),
    ],
)
def test_a_batch_that_goes_wrong_blanks_its_own_rows_and_moves_no_others(
    starter: Path, server: OipServer, fault: str, said: str
) -> None:
    with inferflow.open(starter) as flow:
        good = flow.score("ranker", **LIKE)["like_model:like"].tolist()
    sent_to(starter, server.address, batch_size=1)
    model, second = server.models["like_model"], good[1]

    def infer(request: Any, context: Any) -> bytes:
        answer = InferResponse.FromString(answered(request, model))
        [score] = np.frombuffer(answer.raw_output_contents[0], np.float32).tolist()
        if score == second:
            if fault == "refused":
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not this one")
            rows = {"short": 0, "long": 2, "bytes": 1}[fault]
            answer.outputs[0].shape[:] = [rows, 1]
            answer.raw_output_contents[0] = b"\0" * (3 if fault == "bytes" else 4 * rows)
        done: bytes = answer.SerializeToString()
        return done

    server.infer = infer
    with inferflow.open(starter) as flow:
        scores = flow.score("ranker", **LIKE)
    assert scores.targets.columns["like_model:like"].to_list() == [good[0], None, good[2]]
    assert [said in error for error in scores.errors] == [False, True, False]


def test_explain_says_where_the_model_ran_and_which_version_answered(
    starter: Path, server: OipServer
) -> None:
    sent_to(starter, server.address)
    with inferflow.open(starter) as flow:
        _, recording = flow.record(flow_request())
        record = recording.steps["like_model"]
        assert (record.endpoint, record.version, record.calls) == (server.address, "1", 1)
        assert server.address in str(flow.explain("ranker"))
        assert server.address in str(flow.explain("ranker", flow_request()))


def flow_request() -> dict[str, Any]:
    return {"model_config_id": "ranker", "entities": LIKE}


def test_golden_requests_are_tried_on_remote_models(starter: Path, server: OipServer) -> None:
    sent_to(starter, server.address)
    with inferflow.open(starter) as flow:
        [outcome] = run_requests(flow, [("ranker", starter / "requests/ranker.json")])
    assert outcome.passed, str(outcome)
    assert server.requests


def test_a_model_that_does_not_fit_the_config_is_found_when_the_project_is_checked(
    starter: Path, server: OipServer
) -> None:
    name, datatype, _ = server.models["like_model"].inputs[0]
    server.models["like_model"].inputs = [(name, datatype, [-1, 7])]
    sent_to(starter, server.address)
    [error] = [f for f in check_project(starter) if f.problem.is_error]
    assert "which takes 'features' FP32[N, 7]" in error.problem.what


def test_a_server_that_is_away_is_noted_and_scores_say_who_did_not_answer(
    starter: Path, server: OipServer
) -> None:
    with serving() as gone:
        address = gone.address
    sent_to(starter, address)
    found = check_project(starter)
    assert not [f for f in found if f.problem.is_error]
    [note] = [f for f in found if "could not be asked" in f.problem.what]
    assert f"{address} does not answer" in note.problem.what
    with inferflow.open(starter) as flow:
        scores = flow.score("ranker", **LIKE)
    assert scores.targets.columns["like_model:like"].to_list() == [None] * 3
    assert all(f"like_model: no server answered at {address}" in e for e in scores.errors)


def test_the_loop_for_remote_calls_ends_with_the_project(starter: Path, server: OipServer) -> None:
    sent_to(starter, server.address)

    def loops() -> int:
        return [thread.name for thread in threading.enumerate()].count("inferflow-client")

    flow = inferflow.open(starter)
    assert loops() == 0
    flow.score("ranker", **LIKE)
    assert loops() == 1
    flow.close()
    assert loops() == 0


def test_threads_share_one_project_with_remote_models(starter: Path, server: OipServer) -> None:
    sent_to(starter, server.address)
    found: list[Any] = []
    with inferflow.open(starter) as flow:

        def score() -> None:
            found.extend(flow.score("ranker", **LIKE)["like_model:like"].tolist() for _ in "12345")

        threads = [threading.Thread(target=score) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 20
    assert all(each == found[0] for each in found)


# --- while it is open ---------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are asked again whenever somebody looks."""
    monkeypatch.setattr(signatures, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(signatures, "LONGEST_PAUSE_S", 0.0)


def notes(flow: Flow) -> list[str]:
    return [f.problem.what for f in flow.validate() if "could not be asked" in f.problem.what]


@pytest.mark.usefixtures("at_once")
def test_a_model_is_checked_when_its_server_comes(starter: Path, models: EmbeddedModels) -> None:
    with serving() as gone:
        port = gone.port
    sent_to(starter, gone.address)
    with inferflow.open(starter, watch=True) as flow:
        assert notes(flow)
        assert flow.reload().changed == ()
        with serving(OipServer(models_of(models)), port=port):
            while notes(flow):  # the watcher may have been first
                flow.reload()
            scores = flow.score("ranker", **LIKE)
            while any(scores.errors):  # until the connection is made again
                scores = flow.score("ranker", **LIKE)
            assert [round(x, 3) for x in scores["like_model:like"].tolist()] == expected(starter)


def expected(starter: Path) -> list[float]:
    path = starter / "configs/ranker.yaml"
    text = path.read_text()
    path.write_text("\n".join(x for x in text.splitlines() if "model_endpoint" not in x))
    with inferflow.open(starter) as flow:
        found = flow.score("ranker", **LIKE)["like_model:like"].tolist()
    path.write_text(text)
    return [round(x, 3) for x in found]


@pytest.mark.usefixtures("at_once")
def test_a_server_whose_model_no_longer_fits_keeps_the_last_good_plan(
    starter: Path, server: OipServer
) -> None:
    sent_to(starter, server.address)
    with inferflow.open(starter, watch=True) as flow:
        [status] = flow.status()
        assert status.state == "serving"
        name, datatype, _ = server.models["like_model"].inputs[0]
        server.models["like_model"].inputs = [(name, datatype, [-1, 7])]
        while flow.status()[0].state == "serving":
            flow.reload()
        assert flow.status()[0].state == "last good"
        assert "FP32[N, 7]" in flow.status()[0].problems[0].what


def test_connections_follow_the_endpoints_that_configs_name(
    starter: Path, models: EmbeddedModels, server: OipServer
) -> None:
    path = starter / "configs/ranker.yaml"
    sent_to(starter, server.address)
    with (
        serving(OipServer(models_of(models))) as other,
        inferflow.open(starter, watch=True) as flow,
    ):
        flow.score("ranker", **LIKE)
        path.write_text(path.read_text().replace(server.address, other.address))
        while not other.requests:
            flow.reload()
            flow.score("ranker", **LIKE)
        # Not after a collection: a server keeps what it began with from the collector.
        remote = flow._embedded.models._remote
        assert remote is not None
        assert list(remote._lines) == [other.address]


def test_an_endpoint_that_may_not_be_called_is_refused(
    starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_ENDPOINT_ALLOW", "*.models.internal:8001, 10.0.0.1:*")
    sent_to(starter, "metadata.google.internal:80")
    [error] = [f for f in check_project(starter) if f.problem.is_error]
    assert error.problem.where == "like_model.model_endpoint"
    assert "is not among the servers this process may call" in error.problem.what


# --- in another process -------------------------------------------------------------------------


def test_what_a_server_said_is_taken_over_without_asking_it_again(
    starter: Path, models: EmbeddedModels
) -> None:
    with serving(OipServer(models_of(models))) as server:
        sent_to(starter, server.address)
        with inferflow.open(starter) as flow:
            plan = flow._embedded.book.get("ranker").plan
    pins = tuple(ModelPin(**json.loads(json.dumps(asdict(pin)))) for pin in pins_of(plan))
    assert plan_elsewhere(starter, pins).digest == plan.digest


def test_what_could_not_be_asked_is_taken_over_as_such(
    starter: Path, models: EmbeddedModels
) -> None:
    with serving() as gone:
        pass
    sent_to(starter, gone.address)
    with inferflow.open(starter) as flow:
        plan = flow._embedded.book.get("ranker").plan
    with serving(OipServer(models_of(models)), port=gone.port):
        assert plan_elsewhere(starter, pins_of(plan)).digest == plan.digest


def plan_elsewhere(starter: Path, pins: tuple[ModelPin, ...]) -> Plan:
    """The plan as a process makes it that was only handed the pins."""
    project, settings = read_project(starter), read_settings(starter)
    opened = open_models(project, settings)
    catalog = ProjectCatalog(
        project.schema, PinnedModels(opened, pins), project.expressions, settings
    )
    try:
        compiled = compile_config("ranker", project.configs["ranker"].content, catalog)
    finally:
        opened.close()
    assert compiled.plan is not None
    return compiled.plan
