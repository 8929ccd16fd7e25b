"""The image: how it is built, and what it may not be."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from inferflow._version import __version__

from .files import DEPLOY, DOCKERFILE, REPOSITORY, tool

TEXT = DOCKERFILE.read_text("utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_linter_has_nothing_to_say() -> None:
    done = subprocess.run(
        [tool("hadolint"), str(DOCKERFILE)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_it_runs_as_a_numbered_user_without_rights() -> None:
    last_stage = TEXT.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", last_stage, re.MULTILINE) == ["10001:10001"]
    assert "sudo" not in TEXT
    assert "chmod 777" not in TEXT


def test_every_image_it_is_made_of_has_a_version() -> None:
    bases = re.findall(r"^ARG \w+_IMAGE=(\S+)$", TEXT, re.MULTILINE)
    assert len(bases) == 2
    for base in bases:
        name, _, tag = base.partition(":")
        assert tag
        assert tag != "latest"
        assert "." not in name.partition("/")[0]
    assert set(re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE)) == {
        "${PYTHON_IMAGE}",
        "${NODE_IMAGE}",
    }


def test_what_it_copies_is_there_and_not_ignored() -> None:
    kept = {
        line[1:]
        for line in (REPOSITORY / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", TEXT, re.MULTILINE)
    sources = {source.rstrip("/") for line in copied for source in line.split()}
    assert sources
    for source in sources:
        assert (REPOSITORY / source).exists(), source
        assert any(source == each or source.startswith(f"{each}/") for each in kept), source


def test_its_extras_exist_and_cover_every_role() -> None:
    (line,) = re.findall(r"^ARG EXTRAS=(\S+)$", TEXT, re.MULTILINE)
    chosen, known = set(line.split(",")), set(PROJECT["optional-dependencies"])
    assert chosen <= known
    assert known - chosen == {"all", "pandas"}


def test_the_lock_holds_every_dependency_with_a_digest() -> None:
    lock = (REPOSITORY / "requirements" / "all.txt").read_text("utf-8")
    locked = {_plain(name) for name in re.findall(r"^([A-Za-z0-9_.-]+)==", lock, re.MULTILINE)}
    wanted = {
        _plain(re.split(r"[\[<>=;! ]", line)[0])
        for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
        for line in lines
    }
    assert wanted - {"inferflow"} <= locked
    assert lock.count("--hash=") >= len(locked)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_file_names_the_version_of_the_package() -> None:
    chart = (DEPLOY / "helm/inferflow/Chart.yaml").read_text("utf-8")
    assert f'appVersion: "{__version__}"' in chart
    assert f"${{INFERFLOW_VERSION:-{__version__}}}" in (DEPLOY / "compose/compose.yaml").read_text()
    assert f"inferflow:{__version__}" in (DEPLOY / "compose/README.md").read_text()


# --- the health check ---------------------------------------------------------------------------


@pytest.fixture
def role() -> Iterator[HTTPServer]:
    """Says on `/health/ready` what its `why` is; ready when that is empty."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            why = self.server.why.encode()  # type: ignore[attr-defined]
            self.send_response(503 if why or self.path != "/health/ready" else 200)
            self.end_headers()
            self.wfile.write(why)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.why = ""  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def check(port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEPLOY / "docker/ready.py"), f"http://127.0.0.1:{port}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_the_health_check_says_why_a_role_is_not_ready(role: HTTPServer, tmp_path: Path) -> None:
    port = role.server_address[1]
    assert check(port).returncode == 0
    role.why = "etcd is away"  # type: ignore[attr-defined]
    refused = check(port)
    assert (refused.returncode, refused.stderr.strip()) == (1, "etcd is away")


def test_the_health_check_fails_when_nobody_listens() -> None:
    assert check(1).returncode == 1
