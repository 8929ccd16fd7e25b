"""A gateway called by the public Triton client over HTTP, in JSON and with binary tensors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .gateway_process import start_gateway
from .worker_process import echo, halves, put, scale, start

PROBE = Path(__file__).with_name("triton_http_probe.py")


@pytest.fixture(scope="module")
def seen(triton_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("triton")
    put(folder, "scale", scale(2))
    put(folder, "echo", echo())
    put(folder, "halves", halves())
    worker = start(folder)
    gateway = start_gateway(str(folder), "--models", f"127.0.0.1:{worker.port}")
    try:
        probed = subprocess.run(
            [triton_python, PROBE, gateway.url.removeprefix("http://")],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert probed.returncode == 0, probed.stderr
        yield json.loads(probed.stdout)
    finally:
        gateway.close()
        worker.close()


def test_it_is_live_and_ready(seen: dict[str, Any]) -> None:
    assert [seen[name] for name in ("live", "ready", "model_ready", "version_ready")] == [True] * 4
    assert seen["unknown_ready"] is False


def test_it_describes_itself_and_its_models(seen: dict[str, Any]) -> None:
    assert "binary_tensor_data" in seen["server"]["extensions"]
    assert seen["metadata"] == {
        "name": "scale",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
        "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [-1, 2]},
            {"name": "z", "datatype": "FP32", "shape": [-1, 2]},
        ],
    }
    given = {"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 2]}
    assert seen["config"]["input"] == [given]


def test_it_infers_in_json_and_in_bytes_compressed_or_not(seen: dict[str, Any]) -> None:
    expected = {
        "id": "r1",
        "order": ["z", "y"],
        "y": [[2, 4], [6, 8]],
        "z": [[-2, -4], [-6, -8]],
    }
    assert seen["binary"] == seen["json"] == expected
    assert seen["compressed"] == {"gzip": expected, "deflate": expected}
    assert seen["all outputs"] == seen["raw"]["y"] == expected["y"]


def test_texts_and_half_floats_come_back(seen: dict[str, Any]) -> None:
    assert seen["texts"] == {"binary": ["grün", ""], "json": ["grün", ""]}
    assert seen["halves"] == ["float16", [[0.5, 2.0]]]


def test_it_refuses_with_the_right_codes(seen: dict[str, Any]) -> None:
    assert seen["errors"] == {
        "unknown model": "404",
        "unknown version": "404",
        "wrong input": "400",
        "wrong shape": "400",
        "unknown load": "404",
        "shared memory": "501",
    }


def test_models_come_and_go(seen: dict[str, Any]) -> None:
    assert {each["name"]: each["state"] for each in seen["index"]}["scale"] == "READY"
    assert seen["statistics"]["model_stats"][0]["inference_count"] > 0
    assert (seen["unloaded_ready"], seen["loaded_ready"]) == (False, True)
