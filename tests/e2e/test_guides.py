"""Every command and snippet of the guides works, in the order it is written.

Fences say what to do with them: `sh` is run, `sh fails` must fail, `python` is run, a fence
that names a file (`yaml expressions.yaml`) is written to that file, and `output` must be a part of
what the block before it printed. A guide that says
`<!-- needs: etcd, redis -->` is given those, and left out where there is none.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..servers.etcd import EtcdServer, fragile_etcd  # noqa: F401
from ..servers.redis import RedisServer, own_redis  # noqa: F401

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
NEEDS = re.compile(r"<!-- needs: (?P<names>[a-z, ]+) -->")
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("guide", sorted(path.name for path in GUIDES.glob("*.md")))
def test_a_guide_can_be_followed_as_it_is_written(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path
    text = (GUIDES / guide).read_text(encoding="utf-8")
    needs = NEEDS.search(text)
    for name in needs["names"].split(", ") if needs else ():
        for variable, value in _given(name, request).items():
            monkeypatch.setenv(variable, value)
    printed = ""
    for fence in FENCE.finditer(text):
        language, _, argument = fence["info"].strip().partition(" ")
        if language == "sh" and not argument.endswith(".env"):
            folder, printed = _run_shell(fence["body"], folder, must_fail=argument == "fails")
        elif language == "python":
            code = [sys.executable, "-W", "error", "-c", fence["body"]]
            printed = _run(code, folder, must_fail=False).stdout
        elif language == "output":
            assert fence["body"] in printed
        elif argument:
            (folder / argument).write_text(fence["body"], encoding="utf-8")


def _given(name: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables that say where a server is."""
    if name == "redis":
        redis: RedisServer = request.getfixturevalue("own_redis")
        return {"REDIS_URL": redis.url}
    etcd: EtcdServer = request.getfixturevalue("fragile_etcd")
    return {"ETCD_ENDPOINTS": etcd.endpoint, "ETCDCTL_ENDPOINTS": etcd.endpoint}


def _run_shell(script: str, folder: Path, *, must_fail: bool) -> tuple[Path, str]:
    """Run a block: the folder it ends in, and what it printed."""
    done = _run(
        ["bash", "-euo", "pipefail", "-c", f"{script}\npwd >&2"], folder, must_fail=must_fail
    )
    ended_in = folder if must_fail else Path(done.stderr.strip().splitlines()[-1])
    return ended_in, done.stdout


def _run(command: list[str], folder: Path, *, must_fail: bool) -> subprocess.CompletedProcess[str]:
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode != 0) is must_fail, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done
