"""Loading with options: optimisation, quantisation, providers, devices."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from inferflow.engine.deadline import Deadline
from inferflow.errors import InvalidInput, ModelUnreadable
from inferflow.serving.runtime import ModelFile, ModelRepository
from inferflow.serving.runtime.devices import Device, Devices
from inferflow.serving.runtime.onnx import OnnxRuntime
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.runtime.providers import provider_list

CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"


def dense(width: int = 64) -> bytes:
    weights = np.random.default_rng(7).standard_normal((width, width)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", width])],
        [numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 19)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=9
    ).SerializeToString()
    return content


@pytest.fixture
def file(tmp_path: Path) -> ModelFile:
    path = tmp_path / "models" / "dense" / "1" / "model.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(dense())
    return ModelRepository(tmp_path / "models").find("dense")


def answers(file: ModelFile, cache: Path, options: LoadOptions) -> Any:
    runtime = OnnxRuntime(cache=cache)
    try:
        model = runtime.load(file, options)
        x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
        return model.run(["y"], {"x": x}, Deadline(None))[0]
    finally:
        runtime.close()


@pytest.mark.parametrize("optimise", ["off", "basic", "extended", "all"])
def test_every_level_of_optimisation_gives_the_same_answers(
    file: ModelFile, tmp_path: Path, optimise: Any
) -> None:
    plain = answers(file, tmp_path, LoadOptions())
    other = answers(
        file, tmp_path, LoadOptions(optimise=optimise, intra_threads=2, inter_threads=2)
    )
    np.testing.assert_allclose(other, plain, rtol=1e-5)


def test_a_quantised_model_is_close_and_smaller_and_made_once(
    file: ModelFile, tmp_path: Path
) -> None:
    cache = tmp_path / "quantised"
    plain = answers(file, cache, LoadOptions())
    assert not cache.exists()
    rough = answers(file, cache, LoadOptions(quantise=True))
    assert not np.array_equal(rough, plain)
    assert np.abs(rough - plain).max() < 0.1 * np.abs(plain).max()
    (kept,) = cache.iterdir()
    assert kept.name == f"{file.digest}.onnx"
    assert kept.stat().st_size < file.path.stat().st_size / 2
    made = kept.stat().st_mtime_ns
    np.testing.assert_array_equal(answers(file, cache, LoadOptions(quantise=True)), rough)
    assert kept.stat().st_mtime_ns == made


def test_a_model_that_cannot_be_quantised_says_so(tmp_path: Path) -> None:
    path = tmp_path / "models" / "m" / "1" / "model.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x08\x09garbage")
    file = ModelRepository(tmp_path / "models").find("m")
    runtime = OnnxRuntime(cache=tmp_path / "cache")
    try:
        with pytest.raises(ModelUnreadable, match="without quantisation") as refused:
            runtime.load(file, LoadOptions(quantise=True))
    finally:
        runtime.close()
    assert str(tmp_path) not in str(refused.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_provider_that_is_not_here_is_refused_with_those_that_are(
    file: ModelFile, tmp_path: Path
) -> None:
    runtime = OnnxRuntime(cache=tmp_path)
    try:
        with pytest.raises(InvalidInput, match=r"no execution provider 'CUDA' here.*CPU"):
            runtime.load(file, LoadOptions(providers=("CUDA",)))
    finally:
        runtime.close()


def test_a_device_gets_a_limited_arena_and_the_cpu_comes_last() -> None:
    options = LoadOptions(providers=("CPU", "CUDA"), device=1, device_memory_mb=512)
    assert provider_list(options, [CUDA, CPU]) == [
        (
            CUDA,
            {
                "device_id": "1",
                "arena_extend_strategy": "kSameAsRequested",
                "gpu_mem_limit": str(512 * 1024 * 1024),
            },
        ),
        (CPU, {}),
    ]


def test_a_provider_that_did_not_start_is_an_error_and_not_a_slow_surprise(
    file: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    real = onnxruntime.InferenceSession

    def without_cuda(path: str, options: Any, **facts: Any) -> Any:
        return real(path, options, **{**facts, "providers": [CPU]})

    monkeypatch.setattr(onnxruntime, "InferenceSession", without_cuda)
    runtime = OnnxRuntime(cache=tmp_path)
    try:
        with pytest.raises(ModelUnreadable, match="CUDAExecutionProvider could not be started"):
            runtime.load(file, LoadOptions(providers=("CUDA",)))
    finally:
        runtime.close()


def test_the_cpu_alone_needs_no_settings() -> None:
    assert provider_list(LoadOptions(), [CPU]) == [(CPU, {})]
    assert provider_list(LoadOptions(providers=(CPU,)), [CPU]) == [(CPU, {})]


class Nvml(SimpleNamespace):
    """The vendor's library, with two devices, one of which cannot be asked."""

    class NVMLError(Exception):
        pass

    is_open = False

    def nvmlInit(self) -> None:
        self.is_open = True

    def nvmlShutdown(self) -> None:
        self.is_open = False

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index == 1:
            raise self.NVMLError("lost")
        return index

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        return b"Big GPU"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return "GPU-1"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=100, used=40)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        return SimpleNamespace(gpu=25)


def test_devices_are_found_with_their_memory_and_lost_ones_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nvml = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)  # type: ignore[arg-type]
    devices = Devices()
    assert devices.look() == (Device(0, "Big GPU", "GPU-1", 100, 40, 25.0),)
    devices.close()
    assert not nvml.is_open
    assert devices.look() == ()


def test_a_machine_without_the_library_or_a_driver_has_no_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoDriver(Nvml):
        def nvmlInit(self) -> None:
            raise self.NVMLError("no driver")

    for module in (None, NoDriver()):
        monkeypatch.setitem(sys.modules, "pynvml", module)  # type: ignore[arg-type]
        assert Devices().look() == ()
