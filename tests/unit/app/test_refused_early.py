"""What others could call who are not meant to is refused before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from inferflow.app.scaffold import write_starter
from inferflow.cli.root import app

from ...servers.certificates import Certificates

ROLES = {
    "serve": ("--bind", "0.0.0.0"),
    "up": ("--bind", "0.0.0.0"),
    "serve with processes": ("--bind", "0.0.0.0", "--processes", "2"),
    "feature-store": ("--bind", "0.0.0.0"),
    "numerix": ("--bind", "0.0.0.0"),
    "worker": ("--bind", "0.0.0.0", "--models", "models"),
    "gateway": ("--bind", "0.0.0.0"),
}


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    write_starter(tmp_path / "starter")
    return tmp_path / "starter"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_that_everybody_could_call_opens_nothing(role: str, starter: Path) -> None:
    done = CliRunner().invoke(app, [role.split(maxsplit=1)[0], str(starter), *ROLES[role]])
    assert done.exit_code != 0
    assert "can be reached from other machines" in f"{done.output} {done.exception}"
    assert not (starter / ".inferflow").exists()


@pytest.mark.parametrize("role", ["serve", "worker", "gateway"])
def test_a_certificate_that_cannot_be_read_is_refused_as_early(
    role: str, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_TLS_CERT", "no.pem")
    monkeypatch.setenv("INFERFLOW_TLS_KEY", "no-key.pem")
    options = ROLES[role][2:]
    done = CliRunner().invoke(app, [role.split(maxsplit=1)[0], str(starter), *options])
    assert "no.pem: No such file or directory" in f"{done.output} {done.exception}"
    assert not (starter / ".inferflow").exists()


@pytest.mark.parametrize("role", ["gateway", "up"])
def test_a_gateway_that_could_know_callers_by_certificate_alone_is_refused(
    role: str, starter: Path, tmp_path: Path
) -> None:
    certs = Certificates(tmp_path / "certs")
    cert, key = certs.server()
    written = (
        f'[tls]\ncert = "{cert}"\nkey = "{key}"\nca = "{certs.ca}"\nclient_auth = "required"\n'
        '[auth.certificates]\n"spiffe://shop/web" = ["inference"]\n'
    )
    (starter / "inferflow.toml").write_text(written)
    done = CliRunner().invoke(app, [role, str(starter)])
    told = f"{done.output} {done.exception}"
    assert "a gateway cannot tell callers by their certificates" in told
    assert not (starter / ".inferflow").exists()
