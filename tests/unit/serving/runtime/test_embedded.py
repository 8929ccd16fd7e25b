"""Models prepared and run in this process."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from inferflow.dtypes import BOOL, FP16, FP32, FP64, INT8, INT64, STRING, UINT32, DType
from inferflow.engine.deadline import Deadline
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    InvalidInput,
    ModelFailed,
    ModelUnreadable,
    NotFound,
)
from inferflow.plan.catalog import Endpoint, TensorInfo
from inferflow.serving.runtime import EmbeddedModels, ModelRepository

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def test_the_signature_is_read_from_the_model(folder, models, local, onnx_file) -> None:
    folder.put("scale", onnx_file.scale(2.0), "3")
    signature = models.signature(local("scale"))
    assert signature is not None
    assert (signature.model, signature.version) == ("scale", "3")
    assert signature.inputs == (TensorInfo("x", FP32, (None, 2)),)
    assert signature.outputs == (TensorInfo("y", FP32, (None, 2)), TensorInfo("z", FP32, (None, 2)))
    assert models.model_names() == ("scale",)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (TensorProto.FLOAT16, FP16), (TensorProto.DOUBLE, FP64), (TensorProto.INT8, INT8),
        (TensorProto.INT64, INT64), (TensorProto.UINT32, UINT32), (TensorProto.BOOL, BOOL),
    ],
)  # fmt: skip
def test_tensors_keep_their_types(
    folder, models, local, run, onnx_file, kind, dtype: DType
) -> None:
    folder.put("same", onnx_file.identity(kind))
    assert models.signature(local("same")).inputs[0].dtype is dtype
    given = np.array([0, 1, 1]).astype(dtype.numpy)
    (got,) = run(models.prepare(local("same"), ("x",), ("y",)), given)
    assert got.dtype == dtype.numpy
    np.testing.assert_array_equal(got, given)


def test_text_tensors_go_in_and_come_out(folder, models, local, run, onnx_file) -> None:
    folder.put("same", onnx_file.identity(TensorProto.STRING))
    assert models.signature(local("same")).outputs[0].dtype is STRING
    prepared = models.prepare(local("same"), ("x",), ("y",))
    given = np.array(["a", "", "ключ"], object)
    assert run(prepared, given)[0].tolist() == given.tolist()
    with pytest.raises(ModelFailed, match="surrogates not allowed"):
        run(prepared, np.array(["\udcff"], object))


def test_inputs_and_outputs_follow_the_prepared_order(
    folder, models, local, run, onnx_file
) -> None:
    folder.put("subtract", onnx_file.subtract())
    folder.put("scale", onnx_file.scale(10.0))
    one, two = np.array([5.0], np.float32), np.array([3.0], np.float32)
    assert run(models.prepare(local("subtract"), ("b", "a"), ("c",)), one, two)[0].tolist() == [
        -2.0
    ]
    z, y = run(models.prepare(local("scale"), ("x",), ("z", "y")), ROWS)
    np.testing.assert_array_equal(y, ROWS * 10)
    np.testing.assert_array_equal(z, ROWS * -10)


def test_a_version_can_be_named_and_none_means_the_highest(
    folder, models, local, run, onnx_file
) -> None:
    folder.put("scale", onnx_file.scale(1.0), "1")
    folder.put("scale", onnx_file.scale(2.0), "2")
    newest = models.prepare(local("scale"), ("x",), ("y",))
    older = models.prepare(local("scale", "1"), ("x",), ("y",))
    assert (newest.version, older.version) == ("2", "1")
    np.testing.assert_array_equal(run(newest, ROWS)[0], ROWS * 2)
    np.testing.assert_array_equal(run(older, ROWS)[0], ROWS)


def test_what_is_not_here_has_no_signature_and_cannot_be_prepared(models, local) -> None:
    remote = Endpoint("host:80", "scale", None, address="host:80")
    assert not models.is_local(remote)
    assert models.is_local(local("scale"))
    assert models.signature(remote) is None
    assert models.signature(local("scale")) is None
    with pytest.raises(NotFound):
        models.prepare(local("scale"), ("x",), ("y",))
    with pytest.raises(EngineFault, match="'host:80' is not in this process"):
        models.prepare(remote, ("x",), ("y",))


def test_names_the_model_does_not_know_are_refused_when_preparing(
    folder, models, local, onnx_file
) -> None:
    folder.put("subtract", onnx_file.subtract())
    with pytest.raises(NotFound, match="no input of model 'subtract' 'aa'; did you mean 'a'"):
        models.prepare(local("subtract"), ("aa", "b"), ("c",))
    with pytest.raises(NotFound, match="no output of model 'subtract' 'score'"):
        models.prepare(local("subtract"), ("a", "b"), ("score",))
    with pytest.raises(InvalidInput, match="model 'subtract@1' also takes b"):
        models.prepare(local("subtract"), ("a",), ("c",))


# --- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "what"),
    [
        (np.zeros((2, 3), np.float32), "Got: 3 Expected: 2"),
        (np.zeros(2, np.float32), "Invalid rank for input: x"),
        (np.zeros((2, 2)), "Unexpected input data type"),
    ],
)
def test_a_failing_run_says_why_in_one_line(
    folder, models, local, run, onnx_file, capfd, tensor, what: str
) -> None:
    folder.put("scale", onnx_file.scale(1.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    with pytest.raises(ModelFailed, match=what) as caught:
        run(prepared, tensor)
    assert caught.value.model == "scale@1"
    assert "\n" not in str(caught.value)
    assert "ONNXRuntimeError" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    np.testing.assert_array_equal(run(prepared, ROWS)[0], ROWS)


def test_the_wrong_number_of_tensors_is_a_bug_and_said_so(
    folder, models, local, run, onnx_file
) -> None:
    folder.put("scale", onnx_file.scale(1.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    with pytest.raises(EngineFault, match="2 tensors for the inputs x"):
        run(prepared, ROWS, ROWS)


def test_an_endless_model_is_stopped_at_its_deadline(folder, models, local, run, onnx_file) -> None:
    folder.put("endless", onnx_file.endless())
    prepared = models.prepare(local("endless"), ("x",), ("y",))
    for _ in range(3):
        with pytest.raises(DeadlinePassed, match="'endless@1' did not finish within 20 ms"):
            run(prepared, np.zeros(1, np.float32), budget_ms=20)


def test_a_model_is_not_started_when_its_time_is_up(
    folder, models, local, onnx_file, clock
) -> None:
    folder.put("endless", onnx_file.endless())
    prepared = models.prepare(local("endless"), ("x",), ("y",))
    deadline = Deadline(50, clock=clock)
    clock.now += 1
    with pytest.raises(DeadlinePassed):
        prepared.run([np.zeros(1, np.float32)], deadline=deadline).send(None)


def test_closing_ends_the_watchdog_and_refuses_later_runs(folder, local, run, onnx_file) -> None:
    folder.put("scale", onnx_file.scale(1.0))
    before = threading.active_count()
    opened = EmbeddedModels(ModelRepository(folder.path))
    superseded = opened.prepare(local("scale"), ("x",), ("y",))
    run(superseded, ROWS, budget_ms=1000)
    folder.put("scale", onnx_file.scale(2.0))
    current = opened.prepare(local("scale"), ("x",), ("y",))
    opened.close()
    assert threading.active_count() == before
    for prepared in (superseded, current):
        with pytest.raises(ModelFailed, match="closed"):
            run(prepared, ROWS)


def test_a_negative_number_of_threads_is_refused(folder) -> None:
    with pytest.raises(InvalidInput, match="intra_op_threads is -1"):
        EmbeddedModels(ModelRepository(folder.path), intra_op_threads=-1)


# --- loading and unloading -----------------------------------------------------------------------


def test_nothing_is_loaded_before_it_is_asked_for(
    folder, models, local, run, onnx_file, loads: list[str]
) -> None:
    folder.put("one", onnx_file.scale(1.0))
    folder.put("two", onnx_file.scale(2.0))
    assert models.model_names() == ("one", "two")
    assert loads == []
    models.signature(local("two"))
    run(models.prepare(local("two"), ("x",), ("y",)), ROWS)
    assert loads == ["two"]


def test_an_idle_model_is_unloaded_and_comes_back_when_used(
    folder, models, local, run, onnx_file, clock, loads: list[str]
) -> None:
    folder.put("scale", onnx_file.scale(2.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    clock.now += 59
    run(prepared, ROWS)
    clock.now += 59
    assert models.unload_idle() == ()
    clock.now += 1
    assert models.unload_idle() == ("scale@1",)
    assert models.unload_idle() == ()
    np.testing.assert_array_equal(run(prepared, ROWS)[0], ROWS * 2)
    assert loads == ["scale", "scale"]


def test_an_unloaded_model_is_compiled_against_without_loading_it(
    folder, models, local, onnx_file, clock, loads: list[str]
) -> None:
    folder.put("scale", onnx_file.scale(2.0))
    before = models.signature(local("scale"))
    assert models.unload_idle(clock.now + 60) == ("scale@1",)
    assert models.signature(local("scale")) == before
    models.prepare(local("scale"), ("x",), ("y",))
    assert loads == ["scale"]


def test_models_stay_when_no_idle_time_is_set(folder, local, onnx_file, clock) -> None:
    folder.put("scale", onnx_file.scale(2.0))
    forever = EmbeddedModels(ModelRepository(folder.path), clock=clock)
    forever.signature(local("scale"))
    assert forever.unload_idle(clock.now + 1e9) == ()
    forever.close()


def test_a_replaced_file_is_taken_up_by_the_next_prepare_only(
    folder, models, local, run, onnx_file
) -> None:
    folder.put("scale", onnx_file.scale(1.0))
    old_signature = models.signature(local("scale"))
    running = models.prepare(local("scale"), ("x",), ("y",))
    folder.put("scale", onnx_file.scale(5.0))
    np.testing.assert_array_equal(run(running, ROWS)[0], ROWS)
    assert models.signature(local("scale")).digest != old_signature.digest
    renewed = models.prepare(local("scale"), ("x",), ("y",))
    np.testing.assert_array_equal(run(renewed, ROWS)[0], ROWS * 5)
    np.testing.assert_array_equal(run(running, ROWS)[0], ROWS)


def test_a_model_whose_file_is_gone_stays_loaded_while_a_plan_uses_it(
    folder, models, local, run, onnx_file, clock
) -> None:
    file = folder.put("scale", onnx_file.scale(1.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    file.unlink()
    assert models.unload_idle(clock.now + 1000) == ()
    np.testing.assert_array_equal(run(prepared, ROWS)[0], ROWS)
    del prepared
    gc.collect()
    assert models.unload_idle(clock.now + 1000) == ("scale@1",)
    assert models.unload_idle(clock.now + 1000) == ()


def test_a_file_replaced_while_unloaded_is_not_run_by_the_old_plan(
    folder, models, local, run, onnx_file, clock
) -> None:
    folder.put("scale", onnx_file.scale(1.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    models.unload_idle(clock.now + 60)
    folder.put("scale", onnx_file.scale(5.0))
    with pytest.raises(ModelFailed, match=r"scale/1/model\.onnx has changed on disk"):
        run(prepared, ROWS)
    folder.put("scale", onnx_file.scale(1.0))
    np.testing.assert_array_equal(run(prepared, ROWS)[0], ROWS)


def test_many_threads_asking_at_once_load_a_model_once(
    folder, local, run, onnx_file, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    folder.put("scale", onnx_file.scale(2.0))
    callers = 8
    at_the_door: set[int] = set()
    everyone = threading.Event()

    def clock() -> float:
        # Asked by each thread on its way to the model, before it may have to load it.
        at_the_door.add(threading.get_ident())
        if len(at_the_door) == callers:
            everyone.set()
        return 0.0

    original, loaded = onnxruntime.InferenceSession, []

    def slow_load(*args: Any, **named: Any) -> Any:
        loaded.append(everyone.wait(60))
        return original(*args, **named)

    models = EmbeddedModels(ModelRepository(folder.path), idle_unload_s=0.0, clock=clock)
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    assert models.unload_idle(1.0) == ("scale@1",)
    at_the_door.clear()
    monkeypatch.setattr(onnxruntime, "InferenceSession", slow_load)
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(run(prepared, ROWS)[0].tolist()))
        for _ in range(callers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    models.close()
    assert loaded == [True]
    assert answers == [(ROWS * 2).tolist()] * callers


def test_loading_is_given_up_after_its_limit(
    folder, local, onnx_file, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    folder.put("scale", onnx_file.scale(2.0))
    cancelled = threading.Event()

    class Options(onnxruntime.SessionOptions):
        def set_load_cancellation_flag(self, value: bool) -> None:
            super().set_load_cancellation_flag(value)
            cancelled.set()

    original = onnxruntime.InferenceSession

    def late(*args: Any, **named: Any) -> Any:
        assert cancelled.wait(60)
        return original(*args, **named)

    monkeypatch.setattr(onnxruntime, "SessionOptions", Options)
    monkeypatch.setattr(onnxruntime, "InferenceSession", late)
    models = EmbeddedModels(ModelRepository(folder.path), load_limit_s=0.0)
    with pytest.raises(ModelUnreadable, match="loading did not finish within 0 s"):
        models.signature(local("scale"))
    models.close()


def test_several_threads_may_run_one_model(folder, models, local, run, onnx_file) -> None:
    folder.put("scale", onnx_file.scale(2.0))
    prepared = models.prepare(local("scale"), ("x",), ("y",))
    wrong: list[int] = []

    def work(number: int) -> None:
        given = np.full((4, 2), number, np.float32)
        answers = [run(prepared, given, budget_ms=60_000)[0] for _ in range(50)]
        wrong.extend(number for got in answers if not (got == number * 2).all())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_importing_the_runtime_does_not_import_onnxruntime() -> None:
    code = "import sys, inferflow.serving.runtime; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
