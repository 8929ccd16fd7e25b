"""A worker called by the public Triton client, which lives in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .worker_process import echo, put, scale, start

PROBE = Path(__file__).with_name("triton_probe.py")


@pytest.fixture(scope="module")
def seen(triton_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("triton")
    put(folder, "scale", scale(2))
    put(folder, "echo", echo())
    worker = start(folder)
    try:
        probed = subprocess.run(
            [triton_python, PROBE, f"127.0.0.1:{worker.port}"],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert probed.returncode == 0, probed.stderr
        yield json.loads(probed.stdout)
    finally:
        worker.close()


def test_it_is_live_and_ready(seen: dict[str, Any]) -> None:
    assert [seen[name] for name in ("live", "ready", "model_ready", "version_ready")] == [True] * 4
    assert seen["unknown_ready"] is False


def test_it_describes_itself_and_its_models(seen: dict[str, Any]) -> None:
    assert seen["server"]["name"] == "inferflow"
    assert "model_repository" in seen["server"]["extensions"]
    assert seen["metadata"] == {
        "name": "scale",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": ["-1", "2"]}],
        "outputs": [
            {"name": "y", "datatype": "FP32", "shape": ["-1", "2"]},
            {"name": "z", "datatype": "FP32", "shape": ["-1", "2"]},
        ],
    }
    config = seen["config"]["config"]
    assert config["input"][0] == {"name": "x", "data_type": "TYPE_FP32", "dims": ["-1", "2"]}
    assert config["backend"] == "onnxruntime"


def test_it_infers_numbers_and_texts(seen: dict[str, Any]) -> None:
    expected = {
        "id": "r1",
        "order": ["z", "y"],
        "y": [[2, 4], [6, 8]],
        "z": [[-2, -4], [-6, -8]],
    }
    assert seen["infer"] == seen["infer_again"] == expected
    assert seen["texts"] == ["grün", ""]


def test_a_stream_goes_on_after_a_bad_request(seen: dict[str, Any]) -> None:
    assert [each for each in seen["stream"] if len(each) == 1] == ["0", "1", "3", "4"]
    assert "[request id: 2]" in seen["stream"][2]


def test_it_refuses_with_the_right_codes(seen: dict[str, Any]) -> None:
    assert seen["errors"] == {
        "unknown model": "StatusCode.NOT_FOUND",
        "unknown version": "StatusCode.NOT_FOUND",
        "wrong input": "StatusCode.INVALID_ARGUMENT",
        "wrong shape": "StatusCode.INVALID_ARGUMENT",
        "unknown load": "StatusCode.NOT_FOUND",
        "shared memory": "StatusCode.UNIMPLEMENTED",
    }


def test_it_counts_rows_and_runs(seen: dict[str, Any]) -> None:
    (stats,) = seen["statistics"]["model_stats"]
    assert (stats["name"], stats["version"]) == ("scale", "1")
    assert stats["inference_count"] == "10"
    assert stats["execution_count"] == "5"
    assert stats["inference_stats"]["success"]["count"] == "5"
    assert stats["batch_stats"][0]["batch_size"] == "2"


def test_models_are_listed_unloaded_and_loaded(seen: dict[str, Any]) -> None:
    states = {each["name"]: each["state"] for each in seen["index"]["models"]}
    assert states == {"echo": "READY", "scale": "READY"}
    states = {each["name"]: each["state"] for each in seen["unloaded_index"]["models"]}
    assert states == {"echo": "READY", "scale": "UNAVAILABLE"}
    assert seen["unloaded_ready"] is False
    assert seen["loaded_ready"] is True
