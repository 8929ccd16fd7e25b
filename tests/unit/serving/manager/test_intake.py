"""Models looked at and tried in a process of their own."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

from inferflow.errors import ModelUnreadable, RegistryFailed
from inferflow.serving.manager.intake import Findings, IntakeLimits, check_model
from inferflow.serving.manager.intake import checking as checking_module
from inferflow.serving.manager.storage.records import FileInfo, Tensor

from ....robustness.scenario import StartScenario
from . import hostile

Check = Callable[..., Findings]


@pytest.fixture
def check() -> Iterator[Check]:
    """Looks at a model in a folder that everybody may look into."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)

        def run(model: onnx.ModelProto | bytes, weights: bytes = b"", **limits: float) -> Findings:
            data = model if isinstance(model, bytes) else model.SerializeToString()
            files = {"model.onnx": data, **({"w.bin": weights} if weights else {})}
            for name, content in files.items():
                Path(home, name).write_bytes(content)
            infos = [FileInfo(name, len(content), "") for name, content in files.items()]
            allowed = IntakeLimits(**limits)  # type: ignore[arg-type]
            return asyncio.run(check_model("ranker", Path(home), infos, allowed))

        yield run


def test_a_good_model_says_what_it_takes_and_gives(check: Check) -> None:
    found = check(hostile.fine())
    assert found == Findings((Tensor("x", "FP32", (-1, 2)),), (Tensor("y", "FP32", (-1, 2)),))


def test_text_inputs_and_weights_beside_the_model_are_fine(check: Check) -> None:
    found = check(hostile.texts())
    assert found.inputs == (Tensor("x", "BYTES", (-1,)),)
    assert found.note == ""
    assert check(hostile.with_weights(("location", "w.bin")), weights=bytes(8)).note == ""


def test_what_is_refused_says_why(check: Check) -> None:
    with pytest.raises(ModelUnreadable, match="not ONNX, or damaged"):
        check(b"<html></html>")


def test_a_memory_bomb_does_not_go_off(check: Check, scenario: StartScenario) -> None:
    tried = scenario("H4", "300 bytes that want 160 GB")
    with tried.timed("refused by the child", 30), pytest.raises(ModelUnreadable, match="memory"):
        check(hostile.memory_bomb())


def test_a_model_that_does_not_end_is_ended(check: Check, scenario: StartScenario) -> None:
    tried = scenario("H4", "a loop without end, which may run for 0.2 s")
    with (
        tried.timed("refused by the child", 30),
        pytest.raises(ModelUnreadable, match=r"longer than 0\.2 s"),
    ):
        check(hostile.endless(), run_seconds=0.2)


def test_a_child_that_does_not_answer_in_time_is_killed(check: Check) -> None:
    with pytest.raises(ModelUnreadable, match=r"looking at it takes longer than 0\.05 s"):
        check(hostile.fine(), seconds=0.05)


def test_a_model_that_dislikes_made_up_values_is_noted_and_not_refused(check: Check) -> None:
    found = check(hostile.picky())
    assert found.outputs[0].name == "y"
    assert "a trial run on made-up inputs failed" in found.note


# --- what the child's end means -----------------------------------------------------------------


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts another program in the child's place."""

    def replace(program: str) -> None:
        (tmp_path / "stand_in.py").write_text(
            f"import os, signal, sys\nsys.stdin.read()\n{program}"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setattr(checking_module, "_CHILD", "stand_in")

    return replace


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "died of SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "more time"),
        ("os.kill(os.getpid(), signal.SIGXCPU)", "more time"),
        ("raise MemoryError", "more memory"),
        ("print('hello')", "without an answer"),
        ("print('[]')", "without an answer"),
        ("print('{}')", "without an answer"),
        ("print('x' * 5_000_000)", "longer than"),
        ("", "without an answer"),
    ],
)
def test_however_the_child_ends_the_model_is_refused_in_a_sentence(
    check: Check, child: Callable[[str], None], program: str, told: str
) -> None:
    child(program)
    seconds = 1.0 if "5_000" in program else 30.0
    with pytest.raises(ModelUnreadable, match=told):
        check(hostile.fine(), seconds=seconds)


def test_an_installation_that_cannot_try_models_is_not_the_models_fault(
    check: Check, child: Callable[[str], None]
) -> None:
    child("raise ImportError('no onnxruntime')")
    with pytest.raises(RegistryFailed, match="no onnxruntime"):
        check(hostile.fine())


def test_secrets_of_the_manager_do_not_reach_the_child(
    check: Check, child: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_SECRET", "hidden")
    child("sys.exit('found' if 'INFERFLOW_SECRET' in os.environ else 'not there')")
    with pytest.raises(RegistryFailed, match="not there"):
        check(hostile.fine())


def test_a_module_among_the_files_is_not_taken_for_ours(check: Check, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        data = hostile.fine().SerializeToString()
        Path(home, "model.onnx").write_bytes(data)
        for name in ("json.py", "onnx.py", "inferflow.py", "numpy.py"):
            Path(home, name).write_text("raise SystemExit('taken')")
        infos = [FileInfo("model.onnx", len(data), "")]
        assert asyncio.run(check_model("r", Path(home), infos, IntakeLimits())).inputs


# --- the fences, from the inside ----------------------------------------------------------------

_FENCED = """
import resource, socket
from inferflow.serving.manager.intake.confinement import confine, leave_network
leave_network()
confine(memory_bytes=1 << 30, cpu_s=5)
said = []
try:
    bytearray(2 << 30)
    said.append('memory')
except MemoryError:
    pass
try:
    os.write(os.memfd_create('file'), bytes(100_000))
    said.append('files')
except OSError:
    pass
if os.getuid() == 0:
    said.append('root')
if resource.getrlimit(resource.RLIMIT_CPU) != (5, 5):
    said.append('time')
sys.exit('open: ' + (','.join(said) or 'nothing'))
"""


@pytest.mark.scenario("H4")
def test_memory_files_time_and_root_are_out_of_the_childs_reach(
    check: Check, child: Callable[[str], None]
) -> None:
    child(f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{_FENCED}")
    with pytest.raises(RegistryFailed, match="open: nothing"):
        check(hostile.fine())


@pytest.mark.skipif(os.getuid() != 0, reason="an empty network of its own needs root")
def test_the_child_has_no_network(check: Check, child: Callable[[str], None]) -> None:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        child(
            "import socket\n"
            "from inferflow.serving.manager.intake.confinement import leave_network\n"
            "leave_network()\n"
            f"sys.exit(str(socket.socket().connect_ex(('127.0.0.1', {port})) == 0))"
        )
        with pytest.raises(RegistryFailed, match="False"):
            check(hostile.fine())
