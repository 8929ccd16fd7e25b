"""A deployment whose etcd, Redis and PostgreSQL speak TLS alone, and only to clients that show a
certificate of their authority."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import inferflow
from inferflow.app.redis_settings import RedisSettings
from inferflow.app.scaffold import write_starter
from inferflow.app.setting_values import Secret
from inferflow.errors import InvalidInput, RegistryBusy, RegistryFailed, StoreUnreachable
from inferflow.featurestore.redis_clients import RedisClients
from inferflow.serving.manager.storage import open_storage

from ..servers.certificates import Certificates
from ..servers.etcd import EtcdServer, find_etcd
from ..servers.postgres import PostgresServer, find_binaries
from ..servers.redis import RedisServer, _need_redis
from .fleet_process import start
from .role_process import MAIN

PORTS = ("--port", "0", "--http-port", "0")
BOOKS = ["1", "2", "3"]


class Stores:
    """Everything it starts it ends, with `close`."""

    def __init__(self, home: Path) -> None:
        self._held = ExitStack()
        self.certs = certs = Certificates(home)
        cert, key = map(str, certs.server("etcd"))
        shown, shown_key = map(str, certs.client())
        try:
            self.redis = RedisServer(certs=certs)
            self._held.callback(self.redis.end)
            self.etcd = EtcdServer(
                find_etcd(),
                *("--cert-file", cert, "--key-file", key),
                *("--trusted-ca-file", str(certs.ca), "--client-cert-auth"),
                scheme="https",
            )
            self._held.callback(self.etcd.stop)
            binaries = find_binaries()
            assert binaries is not None
            self.postgres = PostgresServer(binaries, certs)
            self._held.callback(self.postgres.stop)
            self.database = self.postgres.new_database()
        except BaseException:
            self.close()
            raise
        self.etcd_variables = {
            "ETCD_ENDPOINTS": self.etcd.endpoint,
            "ETCD_CA_FILE": str(certs.ca),
            "ETCD_CERT_FILE": shown,
            "ETCD_KEY_FILE": shown_key,
        }
        self.redis_variables = {
            "INFERFLOW_FEATURE_BACKEND": "redis",
            "REDIS_URL": self.redis.url,
            "INFERFLOW_REDIS_TIMEOUT": "10s",  # of a busy machine
            "INFERFLOW_REDIS_CA_FILE": str(certs.ca),
            "INFERFLOW_REDIS_CERT_FILE": shown,
            "INFERFLOW_REDIS_KEY_FILE": shown_key,
        }

    def close(self) -> None:
        self._held.close()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    _need_redis()
    find_etcd()
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    opened = Stores(tmp_path_factory.mktemp("stores"))
    yield opened
    opened.close()


def test_a_project_pushed_to_private_stores_is_served_from_them(
    stores: Stores, tmp_path: Path
) -> None:
    starter, serving = tmp_path / "starter", tmp_path / "serving"
    write_starter(starter)
    shutil.copytree(starter / "models", serving / "models")
    variables = {**stores.etcd_variables, **stores.redis_variables}
    assert "ranker" in push(starter, variables)
    serve = start("serve", serving, *PORTS, **variables, INFERFLOW_DRAIN_PAUSE="0ms")
    try:
        with inferflow.connect(serve.address, attempts=1) as client:
            there = client.score("ranker", user="ada", book=BOOKS)
    finally:
        serve.end()
    assert there.targets.errors == ["", "", ""]
    with inferflow.open(starter) as flow:
        here = flow.score("ranker", user="ada", book=BOOKS)
    for name, column in here.targets.columns.items():
        assert list(there.targets.columns[name].values) == list(column.values)


def push(folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "push", str(folder)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_redis_is_not_spoken_to_without_certificate_or_by_a_wrong_authority(
    stores: Stores, tmp_path: Path
) -> None:
    known = RedisSettings(
        url=stores.redis.url,
        ca_file=str(stores.certs.ca),
        **dict(zip(("cert_file", "key_file"), map(str, stores.certs.client("own")), strict=True)),
    )
    RedisClients(known.options).close()
    stranger = known.model_copy(update={"cert_file": "", "key_file": ""})
    other = known.model_copy(update={"ca_file": str(Certificates(tmp_path).ca)})
    for wrong in (stranger, other):
        with pytest.raises(StoreUnreachable):
            RedisClients(wrong.options)
    plain = known.model_copy(update={"url": Secret(stores.redis.url.replace("rediss", "redis"))})
    with pytest.raises(InvalidInput, match="are for rediss://"):
        RedisClients(plain.options)
    with pytest.raises(InvalidInput, match="go together"):
        RedisClients(known.model_copy(update={"key_file": ""}).options)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_postgres_is_not_spoken_to_without_certificate_or_by_a_wrong_authority(
    stores: Stores, tmp_path: Path
) -> None:
    asyncio.run(opened_and_closed(stores.database))
    url, _, query = stores.database.partition("?")
    root = f"sslmode=verify-full&sslrootcert={stores.certs.ca}"
    other = query.replace(str(stores.certs.ca), str(Certificates(tmp_path).ca))
    for wrong in (url, f"{url}?{root}", f"{url}?{other}"):
        with pytest.raises((RegistryBusy, RegistryFailed)):
            asyncio.run(opened_and_closed(wrong))
    gc.collect()  # the driver may leave the socket of a handshake that failed to the collector


async def opened_and_closed(url: str) -> None:
    storage = await open_storage(url)
    async with storage.writing() as tx:
        await tx.facts.set("a", "b")
    await storage.close()
