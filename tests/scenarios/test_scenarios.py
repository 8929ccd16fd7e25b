"""Every scenario: its project is opened as a user would, and its requests get their answers.

The folders are the tests; see README.md beside this file.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper

import inferflow
from inferflow import Flow
from inferflow.errors import InferflowError
from inferflow.plan.document import read_document
from inferflow.scores import Table
from inferflow.testing import tensor

HERE = Path(__file__).parent
SCENARIOS = sorted(folder.parent.name for folder in HERE.glob("*/configs"))
REQUESTS = sorted((file.parent.parent.name, file.stem) for file in HERE.glob("*/requests/*.json"))
TOLERANCE = 1e-6

Open = Callable[[str], Flow]


# --- models from their weights ----------------------------------------------------------------

ONNX_TYPES = {"FP32": TensorProto.FLOAT, "FP64": TensorProto.DOUBLE, "Int64": TensorProto.INT64}


def onnx_of(model: dict[str, Any]) -> bytes:
    """A model of `models.yaml` as an ONNX file."""
    inputs = [tensor(name, text) for name, text in model["inputs"].items()]
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(value: Any, dtype: type = np.float32) -> str:
        name = f"constant_{len(constants)}"
        constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(operator: str, *sources: str, **attributes: Any) -> str:
        name = f"value_{len(nodes)}"
        nodes.append(helper.make_node(operator, list(sources), [name], **attributes))
        return name

    def weighted(info: Any, rows: Any) -> str:
        value = node("Cast", info.name, to=TensorProto.FLOAT)
        if len(info.shape) == 1:
            value = node("Unsqueeze", value, constant([1], np.int64))
        if len(info.shape) == 3:
            value = node("ReduceMean", value, constant([1], np.int64), keepdims=0)
        return node("MatMul", value, constant(np.transpose(rows)))

    outputs = []
    for name, given in model["outputs"].items():
        if "lookup" in given:
            value, width = node("Gather", constant(given["lookup"]), inputs[0].name), None
        else:
            terms = [weighted(info, given[info.name]) for info in inputs if info.name in given]
            value = terms[0]
            for term in terms[1:]:
                value = node("Add", value, term)
            width = len(next(given[info.name] for info in inputs if info.name in given))
            value = node("Add", value, constant(given.get("bias", [0.0] * width)))
        nodes.append(helper.make_node("Identity", [value], [name]))
        shape = ["N"] if width is None else ["N", width]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    graph = helper.make_graph(
        nodes,
        "scenario",
        [
            helper.make_tensor_value_info(
                info.name,
                ONNX_TYPES[info.dtype.name],
                [f"d{i}" if size is None else size for i, size in enumerate(info.shape)],
            )
            for info in inputs
        ],
        outputs,
        initializer=constants,
    )
    opset = [helper.make_opsetid("", 19)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


# --- opening ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens a scenario once, however many of its requests are asked."""
    flows: dict[str, Flow] = {}

    def open_scenario(name: str) -> Flow:
        if name not in flows:
            project = tmp_path_factory.mktemp(name) / "project"
            shutil.copytree(HERE / name, project)
            models = yaml.safe_load((project / "models.yaml").read_text(encoding="utf-8"))
            for label, written in models.items():
                model, _, version = label.partition("@")
                file = project / "models" / model / version / "model.onnx"
                file.parent.mkdir(parents=True)
                file.write_bytes(onnx_of(written))
            flows[name] = inferflow.open(project)
        return flows[name]

    yield open_scenario
    for flow in flows.values():
        flow.close()


# --- the tests --------------------------------------------------------------------------------


def test_every_request_has_an_expected_answer_and_the_other_way_round() -> None:
    assert REQUESTS
    expected = sorted(
        (file.parent.parent.name, file.stem) for file in HERE.glob("*/expected/*.yaml")
    )
    assert expected == REQUESTS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_explains_itself(scenario: str) -> None:
    prose = (HERE / scenario / "README.md").read_text(encoding="utf-8")
    for name in [name for folder, name in REQUESTS if folder == scenario]:
        assert f"`{name}`" in prose, f"README.md does not show {name}"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_has_no_problems(opened: Open, scenario: str) -> None:
    findings = opened(scenario).validate()
    assert [str(finding) for finding in findings if finding.problem.is_error] == []


@pytest.mark.parametrize(("scenario", "request_name"), REQUESTS)
def test_a_request_gets_its_answer(opened: Open, scenario: str, request_name: str) -> None:
    flow = opened(scenario)
    request = read_document(HERE / scenario / "requests" / f"{request_name}.json")
    expected = read_document(HERE / scenario / "expected" / f"{request_name}.yaml")
    if "refused" in expected:
        with pytest.raises(InferflowError, match=re.escape(expected["refused"])):
            flow.answer(request)
        return
    for _ in range(2):  # asked again, with everything cached, the answer is the same
        scores, recording = flow.record(request)
        assert_values(scores.targets, expected.get("columns", {}))
        assert_errors(scores.targets, expected.get("errors", {}))
        if scores.groups is None:
            assert "groups" not in expected
        else:
            assert_values(scores.groups, expected["groups"])
            assert_errors(scores.groups, expected.get("group_errors", {}))
        assert scores.ids == expected.get("ids", scores.ids)
        assert expected.get("arms", {}).items() <= recording.arms.items()
        for step, count in expected.get("unique_keys", {}).items():
            assert recording.steps[step].unique_keys == count
        if "ranking" in expected:
            assert [scores.ids[row] for row in scores.ranked()] == expected["ranking"]


def assert_values(table: Table, expected: dict[str, list[Any]]) -> None:
    for name, wanted in expected.items():
        got = table.columns[name].to_list()
        assert len(got) == len(wanted), name
        for row, (one, other) in enumerate(zip(got, wanted, strict=True)):
            same = one == other
            if isinstance(one, float) and other is not None:
                same = abs(one - other) <= TOLERANCE * max(1.0, abs(other))
            assert same, f"{name}[{row}]: expected {other!r}, got {one!r}"


def assert_errors(table: Table, expected: dict[int, str]) -> None:
    for row, error in enumerate(table.errors):
        wanted = expected.get(row)
        assert (wanted in error) if wanted else error == "", f"row {row}: {error!r}"


def test_traffic_splits_as_the_percentages_say(opened: Open) -> None:
    flow = opened("documented_ranking")
    arms = []
    for user in range(1000):
        entities = {"user": str(user), "product": "1"}
        _, recording = flow.record({"model_config_id": "ranking", "entities": entities})
        arms.append(recording.arms["ranker_model"])
    assert set(arms) == {"product_ranker_v3@3", "product_ranker_v3@4"}
    # 80 % of 1000, give or take four standard deviations; the split is the same on every run.
    assert abs(arms.count("product_ranker_v3@3") - 800) < 50


def test_the_two_shapes_give_the_same_scores(opened: Open) -> None:
    documented = opened("documented_ranking").score(
        "ranking", user="7", product=["1", "2", "3", "4"]
    )
    original = opened("original_shape").score(
        "original", user_id="7", product_id=["1", "2", "3", "4"]
    )
    assert documented["ranker_model:score"].tolist() == original["score"].tolist()
    assert documented["reranker:final_score"].tolist() == original["final_score"].tolist()
