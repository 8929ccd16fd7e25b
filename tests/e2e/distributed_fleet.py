"""The demo shop across processes: two orchestrators, a feature store on Redis, a compute service
and a worker, with configs and expressions in etcd and inference logs in Kafka.

All but the worker, which has the models, run in empty folders: what they are told by their
environment and by etcd is all they know.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..servers.etcd import EtcdServer
from ..servers.kafka import KafkaServer
from ..servers.redis import RedisServer, new_namespace
from . import (
    feature_store_process,
    numerix_process,
    role_process,
    serving_process,
    worker_process,
)
from .serving_process import Process


@dataclass(frozen=True)
class Servers:
    """Those that others make."""

    etcd: EtcdServer
    redis: RedisServer
    kafka: KafkaServer


def log_everything(shop: Path) -> None:
    for path in (shop / "configs").iterdir():
        written = path.read_text(encoding="utf-8")
        logged = re.sub(r'(logging_perc"?): 0', r"\1: 100", written)
        assert logged != written, path.name
        path.write_text(logged, encoding="utf-8")


class DistributedShop:
    """Everything it starts it ends, with `close`."""

    def __init__(self, shop: Path, home: Path, servers: Servers) -> None:
        self.shop = shop
        self._home = home
        self._started: list[Process] = []
        self._etcd = {
            "ETCD_ENDPOINTS": servers.etcd.endpoint,
            "APP_NAME": f"shop-{servers.etcd.new_app()}",
        }
        self._redis = {
            "INFERFLOW_FEATURE_BACKEND": "redis",
            "REDIS_URL": servers.redis.url,
            "INFERFLOW_REDIS_NAMESPACE": f"{new_namespace()}-{os.getpid()}",
        }
        self._logs = {
            "KafkaBootstrapServers": servers.kafka.address,
            "KafkaLoggingTopic": servers.kafka.new_topic(),
        }
        self._push()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for process in self._started:
            process.close()

    @property
    def addresses(self) -> list[str]:
        """Where the orchestrators answer."""
        return [f"127.0.0.1:{process.port}" for process in self.orchestrators]

    @property
    def environment(self) -> dict[str, str]:
        """What all of them are told."""
        return {**self._etcd, **self._logs}

    def folder(self, name: str) -> Path:
        return self._home / name

    def _push(self) -> None:
        """What a person does: one command fills etcd and Redis from the project's folder."""
        done = subprocess.run(
            [sys.executable, "-c", role_process.MAIN, "push", str(self.shop)],
            env={**os.environ, **self._etcd, **self._redis},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)

    def _start(self) -> None:
        starts: list[Callable[[], Process]] = [
            lambda: feature_store_process.start(
                self._nothing("features"), **self._etcd, **self._redis
            ),
            lambda: numerix_process.start(self._nothing("compute"), **self._etcd),
            self._start_worker,
        ]
        with ThreadPoolExecutor() as threads:
            self.features, self.compute, self.worker = self._all(threads, starts)
            orchestrators = [
                lambda name=name: self._start_orchestrator(name) for name in ("one", "two")
            ]
            self.orchestrators = self._all(threads, orchestrators)

    def _all(
        self, threads: ThreadPoolExecutor, starts: list[Callable[[], Process]]
    ) -> list[Process]:
        """Started at the same time; those that came up are ended even when others did not."""
        coming = [threads.submit(start) for start in starts]
        self._started += [each.result() for each in coming if each.exception() is None]
        return [each.result() for each in coming]

    def _start_worker(self) -> Process:
        worker = worker_process.start(self.shop)
        worker.channel.close()
        return Process(worker.popen, worker.port, worker.http)

    def _start_orchestrator(self, name: str) -> Process:
        return serving_process.start(
            self._nothing(name),
            INFERFLOW_ENDPOINTS=f"local=127.0.0.1:{self.worker.port}",
            externalServiceOnFs_host=f"127.0.0.1:{self.features.port}",
            numerixClientV1_host=f"127.0.0.1:{self.compute.port}",
            **self.environment,
        )

    def _nothing(self, name: str) -> Path:
        folder = self.folder(name)
        folder.mkdir()
        return folder
