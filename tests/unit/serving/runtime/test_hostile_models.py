"""Files that are broken, are something else, or mean harm."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from inferflow.errors import ModelUnreadable

BROKEN: dict[str, tuple[Callable[[Any], bytes], str]] = {
    "empty": (lambda _: b"", "the file is empty"),
    "cut off": (lambda onnx: onnx.scale(1.0)[:-20], "it is not ONNX, or damaged"),
    "cut in half": (lambda onnx: onnx.scale(1.0)[: len(onnx.scale(1.0)) // 2], "damaged"),
    "a garbled name": (lambda onnx: onnx.scale(1.0).replace(b"Mul", b"M\xffl"), "damaged"),
    "noise": (lambda _: bytes(range(255, 0, -1)), "it is not ONNX, or damaged"),
    "a web page": (lambda _: b"\n<!DOCTYPE html><title>404</title>", "it is a web page"),
    "json": (lambda _: b'{"error": "not found"}', "it is JSON"),
    "a pickle": (lambda _: pickle.dumps({"a": 1}), "it is a Python pickle"),
    "a zip": (lambda _: b"PK\x03\x04rest", "it is a zip archive"),
    "an lfs pointer": (lambda _: b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
    "keras": (lambda _: b"\x89HDF\r\n\x1a\n", "it is HDF5"),
    "an unknown domain": (lambda onnx: onnx.unknown_domain(), "elsewhere:Surprise"),
    "a sequence": (lambda onnx: onnx.sequence(), r"output 'y' is a seq\(.*'zipmap': False"),
    "bfloat16": (lambda onnx: onnx.identity(TensorProto.BFLOAT16), r"'x' is a tensor\(bfloat16\)"),
    "float8": (lambda onnx: onnx.identity(TensorProto.FLOAT8E4M3FN), "'x' is a tensor"),
    "weights above": (lambda onnx: onnx.external("../../w.bin"), "weights 'w' are in another"),
    "weights at the root": (
        lambda onnx: onnx.external("/etc/hostname"),
        "weights 'w' are in anoth",
    ),
    "weights nowhere": (lambda onnx: onnx.external("missing.bin"), "weights 'w' are in another"),
    "weights through a link": (lambda onnx: onnx.external("link.bin"), "weights 'w' are in anoth"),
    "weights far beyond": (lambda onnx: onnx.external("w.bin", 2**62), "out of bounds"),
    "weights cut off": (lambda onnx: onnx.external("w.bin", 4), "out of bounds"),
}


@pytest.mark.scenario("H2", "H3")
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_by_name_and_affects_no_other(
    folder, models, local, run, onnx_file, capfd, case: str
) -> None:
    build, what = BROKEN[case]
    folder.put("good", onnx_file.scale(2.0))
    file = folder.put("bad", build(onnx_file))
    secret = folder.path.parent / "secret.bin"
    secret.write_bytes(b"\0" * 8)
    (folder.path / "w.bin").write_bytes(b"\0" * 8)
    if "weights" in case:
        (file.parent / "w.bin").write_bytes(b"\0" * 8)
        (file.parent / "link.bin").symlink_to(secret)

    with pytest.raises(ModelUnreadable, match=what) as caught:
        models.signature(local("bad"))

    message = str(caught.value)
    assert message.startswith("model 'bad@1' cannot be loaded: bad/1/model.onnx: ")
    assert str(folder.path.parent) not in message
    assert "\n" not in message
    assert len(message) < 420
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ModelUnreadable):
        models.prepare(local("bad"), ("x",), ("y",))
    good = models.prepare(local("good"), ("x",), ("y",))
    rows = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(run(good, rows)[0], rows * 2)


def test_weights_in_the_version_folder_are_used(folder, models, local, run, onnx_file) -> None:
    file = folder.put("split", onnx_file.external("w.bin"))
    (file.parent / "w.bin").write_bytes(np.array([2, 3], np.float32).tobytes())
    prepared = models.prepare(local("split"), ("x",), ("y",))
    assert run(prepared, np.ones(2, np.float32))[0].tolist() == [2.0, 3.0]


def test_a_mended_file_loads(folder, models, local, onnx_file) -> None:
    folder.put("m", b"<html>")
    with pytest.raises(ModelUnreadable):
        models.signature(local("m"))
    folder.put("m", onnx_file.scale(1.0))
    assert models.signature(local("m")) is not None


def test_a_folder_in_place_of_the_file_is_refused(folder, models, local) -> None:
    (folder.path / "m" / "1" / "model.onnx").mkdir(parents=True)
    with pytest.raises(ModelUnreadable, match="m@1"):
        models.signature(local("m"))


@settings(max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))
@given(at=st.integers(0, 10_000), flip=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_file_loads_or_is_refused_and_nothing_else(
    folder, models, local, onnx_file, at: int, flip: int, cut: bool
) -> None:
    content = bytearray(onnx_file.scale(1.0))
    at %= len(content)
    content[at] ^= flip
    folder.put("m", bytes(content[:at] if cut else content))
    try:
        signature = models.signature(local("m"))
    except ModelUnreadable:
        return
    assert signature.outputs


MEMORY_BOMB = """
import resource, sys
import numpy as np
from inferflow.engine.deadline import Deadline
from inferflow.errors import ModelFailed
from inferflow.plan.catalog import Endpoint
from inferflow.serving.runtime import EmbeddedModels, ModelRepository

models = EmbeddedModels(ModelRepository(sys.argv[1]))
bomb = models.prepare(Endpoint("", "bomb", None), ("size",), ("y",))
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

def run(size):
    try:
        bomb.run([np.array([size, size])], deadline=Deadline(None)).send(None)
    except StopIteration as ended:
        return ended.value[0].tolist()

try:
    run(200_000)
except ModelFailed as failed:
    assert len(str(failed)) < 400, failed
    sys.exit(0 if run(2) == [[0.0]] else 3)
sys.exit(4)
"""


def test_a_model_that_asks_for_too_much_memory_fails_alone(folder, onnx_file, tmp_path) -> None:
    folder.put("bomb", onnx_file.memory_bomb())
    child = subprocess.run(
        [sys.executable, "-c", MEMORY_BOMB, str(folder.path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (child.returncode, child.stderr) == (0, "")


def test_a_model_linked_from_elsewhere_loads(folder, models, local, onnx_file, tmp_path) -> None:
    kept = Path(tmp_path) / "kept.onnx"
    kept.write_bytes(onnx_file.scale(1.0))
    (folder.path / "m" / "1").mkdir(parents=True)
    (folder.path / "m" / "1" / "model.onnx").symlink_to(kept)
    assert models.signature(local("m")) is not None
