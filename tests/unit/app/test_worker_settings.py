"""Settings of a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.worker import BatchRules


def test_a_worker_has_the_ports_people_expect_and_batches_nothing(tmp_path: Path) -> None:
    worker = read_settings(tmp_path).worker
    assert (worker.bind, worker.port, worker.http_port) == ("127.0.0.1", 8001, 8002)
    plan = worker.plan_for("any")
    assert plan.rules == BatchRules()
    assert plan.options == LoadOptions()
    assert worker.policy.threads >= 1
    assert worker.policy.memory_bytes is None


def test_one_model_may_differ_from_the_others(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text(
        """
        [worker]
        max_batch = 32
        queue_timeout = "2s"
        memory_mb = 1.5
        idle_unload = "10m"

        [worker.models.ranker]
        max_batch = 128
        max_delay = "5ms"
        preferred_batch = [32, 64]
        quantise = true
        providers = ["CUDA"]
        """
    )
    worker = read_settings(tmp_path).worker
    other, ranker = worker.plan_for("other"), worker.plan_for("ranker")
    assert other.rules == BatchRules(max_rows=32, queue_timeout_s=2.0)
    assert ranker.rules == BatchRules(
        max_rows=128, max_delay_s=0.005, preferred=(32, 64), queue_timeout_s=2.0
    )
    assert ranker.options == LoadOptions(quantise=True, providers=("CUDA",))
    assert not other.options.quantise
    assert worker.policy.memory_bytes == 3 * 512 * 1024
    assert worker.policy.idle_unload_s == 600


def test_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inferflow.toml").write_text("[worker]\nport = 1\n")
    monkeypatch.setenv("INFERFLOW_WORKER_PORT", "2")
    monkeypatch.setenv("INFERFLOW_WORKER_PREFETCH", "a, b@2")
    monkeypatch.setenv("INFERFLOW_WORKER_PREFERRED_BATCH", "8,16")
    worker = read_settings(tmp_path).worker
    assert worker.port == 2
    assert worker.prefetch == ("a", "b@2")
    assert worker.preferred_batch == (8, 16)


@pytest.mark.parametrize(
    "line", ["max_batch = 0", "optimise = 'some'", "prt = 1", "models = {m = {max_bath = 2}}"]
)
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "inferflow.toml").write_text(f"[worker]\n{line}\n")
    with pytest.raises(InvalidInput, match=line.partition(" ")[0]):
        read_settings(tmp_path)
