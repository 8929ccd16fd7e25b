"""How a role is guarded, by its settings."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.servers.certificates import Certificates

from inferflow.access import Credentials, Gate, KeyCard, OpenGate, Permission
from inferflow.app.key_cards import create_key, list_keys, revoke_key
from inferflow.app.key_file import FileKeys
from inferflow.app.security import open_gate, open_security
from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput, NotFound, PermissionDenied, Unauthenticated


def gate_of(project: Path, toml: str = "") -> Gate | OpenGate:
    (project / "inferflow.toml").write_text(toml)
    return open_gate(read_settings(project), auth="on")


def admitted(gate: Gate | OpenGate, shown: Credentials, needs: Permission) -> KeyCard:
    return asyncio.run(gate.admit(shown, needs=needs))


# --- which gate ---------------------------------------------------------------------------------


def test_without_anything_to_know_callers_by_only_this_machine_may_call(tmp_path: Path) -> None:
    security = open_security(read_settings(tmp_path), auth="on")
    assert security.gate.is_open
    security.check_bind("127.0.0.1", "on")
    security.check_bind("0.0.0.0", "off")
    with pytest.raises(InvalidInput, match=r"INFERFLOW_KEYS_FILE.*INFERFLOW_AUTH=off"):
        security.check_bind("0.0.0.0", "on")


def test_with_keys_everybody_is_asked_and_a_server_may_be_reached_from_anywhere(
    tmp_path: Path,
) -> None:
    secret = create_key(tmp_path / "keys.json", "shop", ["inference"])["secret"]
    (tmp_path / "inferflow.toml").write_text('[auth]\nkeys_file = "keys.json"\n')
    security = open_security(read_settings(tmp_path), auth="on")
    security.check_bind("0.0.0.0", "on")
    assert admitted(security.gate, Credentials(secret), Permission.INFERENCE).name == "shop"
    assert open_security(read_settings(tmp_path), auth="off").gate.is_open


def test_a_keys_file_that_is_not_there_is_told_with_the_command_that_makes_it(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidInput, match=r"keys\.json.*`inferflow keys create NAME"):
        gate_of(tmp_path, '[auth]\nkeys_file = "keys.json"\n')


def test_keys_of_a_fleet_take_a_fleet(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"auth\.manager: no manager is named"):
        gate_of(tmp_path, "[auth]\nmanager = true\n")


def test_callers_and_certificates_stand_in_the_settings(tmp_path: Path) -> None:
    gate = gate_of(
        tmp_path,
        '[auth.callers.web]\ntoken = "s3"\npermissions = "inference"\nmodels = ["rank*"]\n'
        '[auth.certificates]\n"spiffe://shop/ops" = ["view", "admin"]\n'
        'batch = {permissions = ["inference"], per_second = 5}\n'
        '[tls]\nclient_auth = "required"\n',
    )
    web = admitted(gate, Credentials(caller="web", token="s3"), Permission.INFERENCE)
    assert web.models.allow("ranker")
    assert not web.models.allow("fraud")
    ops = admitted(gate, Credentials(certificate=("spiffe://shop/ops",)), Permission.ADMIN)
    assert ops.key_id == "certificate:spiffe://shop/ops"
    batch = admitted(gate, Credentials(certificate=("batch",)), Permission.INFERENCE)
    assert batch.rate is not None
    assert (batch.rate.per_second, batch.rate.burst) == (5, 5)
    with pytest.raises(PermissionDenied):
        admitted(gate, Credentials(certificate=("batch",)), Permission.ADMIN)


@pytest.mark.parametrize(
    ("toml", "what"),
    [
        ('[auth.callers.web]\ntoken = "s3"\npermissions = "fly"\n', "'fly' is no permission"),
        ('[auth.callers.web]\npermissions = "view"\n', "needs a token, or the sha256"),
        ('[auth.callers.web]\ntoken = ""\npermissions = "view"\n', "cannot be empty"),
        ('[auth.callers.web]\nsha256 = "s3cret"\npermissions = "view"\n', "64 hexadecimal"),
        ('[auth.certificates]\nweb = {permissions = "view", models = ["a b"]}\n', "not a model"),
        ("[auth.certificates]\nweb = []\n", "at least 1"),
    ],
)
def test_settings_that_grant_nothing_sensible_are_refused_and_quote_no_secret(
    tmp_path: Path, toml: str, what: str
) -> None:
    with pytest.raises(InvalidInput, match=what) as refused:
        gate_of(tmp_path, toml)
    assert "s3cret" not in str(refused.value)


def test_certificates_that_nobody_is_asked_for_are_no_identity(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"auth\.certificates: nobody is asked"):
        gate_of(tmp_path, '[auth.certificates]\nweb = ["view"]\n')


def test_asking_for_certificates_without_tls_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text('[tls]\nclient_auth = "required"\n')
    with pytest.raises(InvalidInput, match=r"tls\.client_auth: without tls\.cert"):
        open_security(read_settings(tmp_path), auth="on")


def test_certificates_are_found_beside_the_settings_wherever_the_process_runs(
    tmp_path: Path,
) -> None:
    Certificates(tmp_path / "certs").server()
    (tmp_path / "inferflow.toml").write_text(
        '[tls]\ncert = "certs/server.pem"\nkey = "certs/server-key.pem"\n'
    )
    assert open_security(read_settings(tmp_path), auth="on").tls is not None


# --- keys of a file -----------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_that_is_made_or_revoked_is_known_within_a_second_or_two(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys.json", Clock()
    first = create_key(path, "first", ["inference"])["secret"]
    keys = FileKeys(path, monotonic=clock)
    second = create_key(path, "second", ["view"])
    with pytest.raises(Unauthenticated):
        asyncio.run(keys.identify(second["secret"]))
    clock.now = 1.5
    assert asyncio.run(keys.identify(second["secret"])).name == "second"
    revoke_key(path, second["key"]["key_id"])
    clock.now = 3.0
    with pytest.raises(Unauthenticated):
        asyncio.run(keys.identify(second["secret"]))
    assert asyncio.run(keys.identify(first)).name == "first"


def test_a_file_that_breaks_leaves_the_keys_as_they_were(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "keys.json", Clock()
    secret = create_key(path, "first", ["inference"])["secret"]
    keys = FileKeys(path, monotonic=clock)
    path.write_text("{")
    for clock.now in (2.0, 4.0):
        assert asyncio.run(keys.identify(secret)).name == "first"
    path.unlink()
    for clock.now in (6.0, 8.0):
        assert asyncio.run(keys.identify(secret)).name == "first"
    assert [each.message for each in caplog.records] == ["keys_refused", "keys_refused"]


def test_only_its_owner_may_read_a_keys_file_and_it_lists_what_was_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "keys.json"
    create_key(path, "shop", ["inference", "view"], models=["rank*"], per_second=2, burst=9)
    assert os.stat(path).st_mode & 0o777 == 0o600
    [facts] = list_keys(path)
    assert facts["name"] == "shop"
    assert facts["permissions"] == ["inference", "view"]
    assert (facts["models"], facts["requests_per_second"], facts["burst"]) == (["rank*"], 2, 9)
    with pytest.raises(NotFound):
        revoke_key(path, "000000000000")
    with pytest.raises(NotFound):
        list_keys(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="name"):
        create_key(path, " ", ["view"])
