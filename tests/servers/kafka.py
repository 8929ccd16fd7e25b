"""A Kafka broker in KRaft mode, alone and empty. Its files come through Maven, once per machine.

It can be stopped and started again with what it held, and paused.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .certificates import Certificates
from .processes import ServerFolder, ServerProcess, free_port, run_as

POM = Path(__file__).with_name("kafka.pom.xml")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inferflow-tests"

_LOGS = "org.slf4j.simpleLogger"
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{private},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:{private}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={keys}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
log.dirs={data}
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class KafkaServer:
    def __init__(self, jars: Path) -> None:
        self._jars = jars
        self._folder = ServerFolder("kafka")
        self._names = itertools.count(1)
        self.port, self._private_port = free_port(), free_port()
        home = self._folder.path
        self.certs = Certificates(home / "certs")
        """Of whoever may speak to it over TLS."""
        cert, key = self.certs.server()
        (home / "keys.pem").write_bytes(key.read_bytes() + cert.read_bytes())
        properties = _PROPERTIES.format(
            port=self.port,
            private=self._private_port,
            controller=free_port(),
            data=home / "data",
            keys=home / "keys.pem",
            ca=self.certs.ca,
        )
        (home / "server.properties").write_text(properties, encoding="utf-8")
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        try:
            tool = self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c")
            run_as(None, [*tool, "server.properties"], home)
            self.start()
        except BaseException:
            self._folder.remove()
            raise

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def private_address(self) -> str:
        """The same broker, over TLS alone, for clients that show a certificate of `certs`."""
        return f"127.0.0.1:{self._private_port}"

    def new_topic(self) -> str:
        """A name nobody has used yet; the broker makes the topic when it is first written to."""
        return f"topic-{next(self._names)}"

    def start(self) -> None:
        command = [*self._java("kafka.Kafka"), "server.properties"]
        self._process = ServerProcess(
            command, self._folder.path, user=None, ready="Kafka Server started"
        )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.stop(how)

    def pause(self) -> None:
        """Let it hang: it is there, and does nothing."""
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def remove(self) -> None:
        self._folder.remove()

    def _java(self, program: str, *arguments: str) -> list[str]:
        heap = ["-Xmx512m", "-XX:TieredStopAtLevel=1"]
        quiet = [f"-D{_LOGS}.defaultLogLevel=warn", f"-D{_LOGS}.log.kafka.server=info"]
        return ["java", *heap, *quiet, "-cp", f"{self._jars}/*", program, *arguments]


def kafka_jars() -> Path | str:
    """Where the broker's files are, or why there are none."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    CACHE.mkdir(parents=True, exist_ok=True)
    jars = CACHE / f"kafka-{hashlib.blake2b(POM.read_bytes(), digest_size=4).hexdigest()}"
    with (CACHE / "kafka.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes want them at once
        if jars.exists():
            return jars
        beside = jars.with_suffix(".part")
        shutil.rmtree(beside, ignore_errors=True)
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={beside}"],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        if done.returncode != 0:
            return f"Maven could not fetch Kafka: {done.stdout[-300:]}"
        beside.rename(jars)
        return jars


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    jars = kafka_jars()
    if isinstance(jars, str):
        pytest.skip(jars)
    server = KafkaServer(jars)
    yield server
    server.stop()
    server.remove()
