"""Which config store the settings lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.config_stores import follow_configs, open_configs, open_etcd
from inferflow.app.settings import read_settings
from inferflow.configstore import DirectoryStore
from inferflow.configstore.etcd import EtcdStore, FollowedStore
from inferflow.errors import InvalidInput


def test_without_etcd_configs_are_in_the_folder(tmp_path: Path) -> None:
    settings = read_settings(tmp_path)
    assert isinstance(open_configs(tmp_path, settings), DirectoryStore)
    assert isinstance(follow_configs(tmp_path, settings), DirectoryStore)


@pytest.mark.parametrize("variable", ["ETCD_ENDPOINTS", "ETCD_SERVER"])
def test_with_etcd_they_are_there(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.setenv("ETCD_DIAL_TIMEOUT", "10ms")
    settings = read_settings(tmp_path)
    direct, followed = open_configs(tmp_path, settings), follow_configs(tmp_path, settings)
    assert isinstance(direct, EtcdStore)
    assert isinstance(followed, FollowedStore)
    direct.close()
    followed.close()


def test_every_setting_reaches_the_client(tmp_path: Path) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("")
    (tmp_path / "inferflow.toml").write_text(
        f"""[etcd]
        endpoints = ["http://a:1", "b:2"]
        username = "ann"
        password = "secret"
        dial_timeout = "3s"
        ca_file = "{tmp_path}/ca.pem"
        cert_file = "{tmp_path}/cert.pem"
        key_file = "{tmp_path}/key.pem"
        """
    )
    client = open_etcd(read_settings(tmp_path))
    options = client.options
    client.close()
    assert options.endpoints == ("http://a:1", "b:2")
    assert (options.username, options.password) == ("ann", "secret")
    assert options.dial_timeout_s == 3
    files = (options.ca_file, options.cert_file, options.key_file)
    assert [Path(each).name for each in files] == ["ca.pem", "cert.pem", "key.pem"]


def test_an_application_without_a_usable_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_ENDPOINTS", "127.0.0.1:1")
    monkeypatch.setenv("APP_NAME", "a/b")
    with pytest.raises(InvalidInput, match="APP_NAME"):
        open_configs(tmp_path, read_settings(tmp_path))
