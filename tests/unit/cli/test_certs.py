"""`inferflow certs dev`, and `inferflow keys --file`."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

from cryptography import x509
from typer.testing import CliRunner

from inferflow.cli.root import app

RUN = CliRunner()


def test_an_authority_a_server_and_a_client_are_written_with_keys_for_their_owner_alone(
    tmp_path: Path,
) -> None:
    done = RUN.invoke(
        app,
        ["certs", "dev", str(tmp_path / "certs"), "--host", "ranker.internal", "--client", "web"],
    )
    assert done.exit_code == 0, done.output
    assert "INFERFLOW_TLS_CERT" in done.output
    found = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "certs").iterdir()}
    names = ("ca", "client", "server")
    assert set(found) == {f"{name}{end}" for name in names for end in (".pem", "-key.pem")}
    assert {found[f"{name}-key.pem"] for name in names} == {0o600}
    server = x509.load_pem_x509_certificate((tmp_path / "certs" / "server.pem").read_bytes())
    hosts = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "ranker.internal" in hosts.get_values_for_type(x509.DNSName)
    context = ssl.create_default_context(cafile=str(tmp_path / "certs" / "ca.pem"))
    context.load_cert_chain(tmp_path / "certs/client.pem", tmp_path / "certs/client-key.pem")


def test_run_again_it_replaces_all_of_them(tmp_path: Path) -> None:
    def made() -> dict[str, bytes]:
        assert RUN.invoke(app, ["certs", "dev", str(tmp_path)]).exit_code == 0
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    before, after = made(), made()
    assert set(before) == set(after)
    assert all(before[name] != after[name] for name in before)


def test_keys_of_a_file_are_made_listed_and_revoked(tmp_path: Path) -> None:
    file = str(tmp_path / "keys.json")
    create = ["keys", "create", "shop", "--may", "inference", "--expires", "30d", "--file", file]
    secret = RUN.invoke(app, create).output.strip()
    assert secret.startswith("ifk_")
    key_id = secret.split("_")[1]
    listed = json.loads(RUN.invoke(app, ["keys", "list", "--file", file, "--json"]).output)
    assert [(each["key_id"], each["name"]) for each in listed["keys"]] == [(key_id, "shop")]
    assert listed["keys"][0]["expires_ms"] > 0
    assert "shop" in RUN.invoke(app, ["keys", "revoke", key_id, "--file", file]).output
    assert "revoked" in RUN.invoke(app, ["keys", "list", "--file", file]).output
    assert secret.split("_", 2)[2] not in (tmp_path / "keys.json").read_text()
