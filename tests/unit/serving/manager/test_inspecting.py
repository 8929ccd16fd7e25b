"""What a model file says about itself, and what of it is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import onnx
import pytest
from onnx import helper

from inferflow.errors import ModelUnreadable
from inferflow.serving.manager.intake.inspecting import inspect
from inferflow.serving.manager.intake.limits import IntakeLimits

from ....robustness.scenario import StartScenario
from . import hostile

LIMITS = IntakeLimits(nodes=100, depth=3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def look(model: onnx.ModelProto | bytes, **files: bytes) -> None:
    """Files are written beside the model; a double underscore in a name is a dot."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    Path("model.onnx").write_bytes(data)
    sizes = {"model.onnx": len(data)}
    for name, content in files.items():
        path = name.replace("__", ".")
        Path(path).write_bytes(content)
        sizes[path] = len(content)
    inspect("ranker", sizes, LIMITS)


def refusal(model: onnx.ModelProto | bytes, **files: bytes) -> str:
    with pytest.raises(ModelUnreadable) as refused:
        look(model, **files)
    return str(refused.value)


def test_ordinary_models_pass() -> None:
    look(hostile.fine())
    look(hostile.texts())
    look(hostile.with_weights(("location", "w.bin")), w__bin=bytes(8))
    look(
        hostile.with_weights(("location", "w.bin"), ("offset", "8"), ("length", "8")),
        w__bin=bytes(16),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100,
        b"<html><body>404</body></html>",
        pickle.dumps({"weights": [1, 2, 3]}),
        bytes(range(256)) * 4,
        b"PK\x03\x04" + bytes(60),
    ],
    ids=["empty", "zeros", "html", "pickle", "noise", "zip"],
)
def test_what_is_not_onnx_is_refused(data: bytes, scenario: StartScenario) -> None:
    tried = scenario("H3", "nothing, zeros, HTML, a pickle, noise, a zip")
    told = refusal(data)
    tried.holds("refused with the reason", told[:60], "not ONNX" in told)


def test_a_truncated_model_is_refused(scenario: StartScenario) -> None:
    tried = scenario("H3", "a model cut off at every byte")
    whole = hostile.fine().SerializeToString()
    for length in range(1, len(whole)):
        assert refusal(whole[:length])
        tried.shown("refused", "refused")


@pytest.mark.parametrize(
    "entries",
    [
        [("location", "../w.bin")],
        [("location", "../../etc/passwd")],
        [("location", "/etc/passwd")],
        [("location", "./w.bin")],
        [("location", "sub/../w.bin")],
        [("location", "W.BIN")],
        [("location", "missing.bin")],
        [("location", "")],
        [("location", "model.onnx")],
        [],
        [("offset", "0")],
    ],
    ids=str,
)
def test_weights_elsewhere_are_refused_by_name(
    entries: list[tuple[str, str]], scenario: StartScenario
) -> None:
    tried = scenario("H2", "weights above, outside, missing, nowhere")
    told = refusal(hostile.with_weights(*entries), w__bin=bytes(8))
    assert "not uploaded with the model" in told
    tried.holds("refused with the tensor's name", "refused", "tensor 'w'" in told)


@pytest.mark.parametrize(
    "entries",
    [
        [("offset", "-1")],
        [("offset", "4"), ("length", "8")],
        [("offset", "9223372036854775807")],
        [("offset", "9" * 30)],
        [("length", "-8")],
        [("length", "9")],
        [("offset", "1e3")],
        [("offset", " 1")],
    ],
    ids=str,
)
def test_weights_beyond_their_file_are_refused(
    entries: list[tuple[str, str]], scenario: StartScenario
) -> None:
    tried = scenario("H2", "weights before, beyond and not quite in their file")
    told = refusal(hostile.with_weights(("location", "w.bin"), *entries), w__bin=bytes(8))
    tried.holds("refused with the tensor's name", "refused", "tensor 'w'" in told)


@pytest.mark.parametrize(
    "entries",
    [
        [("location", "w.bin"), ("location", "/etc/passwd")],
        [("location", "w.bin"), ("basepath", "/etc")],
    ],
    ids=str,
)
def test_weights_that_say_two_things_are_refused(entries: list[tuple[str, str]]) -> None:
    assert "odd way" in refusal(hostile.with_weights(*entries), w__bin=bytes(8))


def test_weights_that_only_pretend_to_be_inside_are_refused() -> None:
    model = hostile.with_weights(("location", "/etc/passwd"))
    model.graph.initializer[0].data_location = onnx.TensorProto.DEFAULT
    assert "odd way" in refusal(model)


def test_weights_hidden_in_a_branch_are_found() -> None:
    assert "'/etc/passwd'" in refusal(hostile.hidden_weights())


def test_a_graph_may_be_so_large_and_so_deep_and_no_more(scenario: StartScenario) -> None:
    tried = scenario("H4", "a node, and a level, more than allowed")
    look(hostile.long(100))
    assert "more than 100 nodes" in refusal(hostile.long(101))
    look(hostile.nested(3))
    told = refusal(hostile.nested(4))
    tried.holds("refused with the limit", told[:60], "deeper than 3" in told)


def test_operators_nobody_has_are_refused() -> None:
    custom = hostile.model(
        [helper.make_node("Magic", ["x"], ["y"], domain="evil.corp")],
        opsets={"": 20, "evil.corp": 1},
    )
    assert "operators of 'evil.corp'" in refusal(custom)


@pytest.mark.scenario("H4")
def test_operators_from_the_future_are_refused() -> None:
    future = hostile.model([helper.make_node("Add", ["x", "x"], ["y"])], opsets={"": 999})
    assert "version 999" in refusal(future)


def test_the_onnx_checker_has_its_say() -> None:
    broken = hostile.model([helper.make_node("Add", ["x", "nowhere"], ["y"])])
    assert "the ONNX checker says" in refusal(broken)
