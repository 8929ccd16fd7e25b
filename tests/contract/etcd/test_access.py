"""Logins, rights and certificates, with a real etcd."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from inferflow.configstore import Draft, ServedStore, Texts
from inferflow.configstore.etcd import EtcdStore, FollowedStore
from inferflow.errors import PermissionDenied, Unauthenticated, Unreachable
from inferflow.rpc.etcd import EtcdClient, EtcdOptions, Mirror, prefix_end

from ...servers.etcd import EtcdServer, find_etcd, put, until

INNER = json.dumps({"response_config": {"features": ["a"]}})
KEY = b"/config/inferflow/services/shop/model-config/config-map/ranker"


@pytest.fixture(scope="module")
def guarded() -> Iterator[EtcdServer]:
    """An etcd with users: root, one who may only read, and one who may do nothing."""
    server = EtcdServer(find_etcd())
    server.ctl("user", "add", "root:secret")
    server.ctl("user", "grant-role", "root", "root")
    server.ctl("role", "add", "reader")
    server.ctl("role", "grant-permission", "reader", "read", "/config/", "--prefix")
    for user in ("ann", "nobody"):
        server.ctl("user", "add", f"{user}:secret")
    server.ctl("user", "grant-role", "ann", "reader")
    server.ctl("auth", "enable")
    yield server
    server.stop()


def login(server: EtcdServer, user: str, password: str = "secret") -> EtcdClient:
    return server.client(username=user, password=password)


def test_who_may_read_and_write_does(guarded: EtcdServer) -> None:
    store = EtcdStore(login(guarded, "root"), "shop")
    store.push(Draft("pushed", INNER, "json", "root"))
    assert store.get("pushed").text == INNER
    store.close()


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("eve", "secret"), ("", "")])
def test_who_is_not_known_is_told_so(guarded: EtcdServer, user: str, password: str) -> None:
    client = login(guarded, user, password)
    with pytest.raises(Unauthenticated, match=guarded.address):
        client.get(b"/config/x")
    client.close()


def test_who_may_not_is_told_so_and_changes_nothing(guarded: EtcdServer) -> None:
    store = EtcdStore(login(guarded, "ann"), "shop")
    with pytest.raises(PermissionDenied):
        store.push(Draft("refused", INNER, "json", "ann"))
    assert "refused" not in store.current().documents
    store.close()


def test_a_server_that_may_only_read_takes_configs_up_all_the_same(
    guarded: EtcdServer, tmp_path: Path
) -> None:
    root = login(guarded, "root")
    followed = FollowedStore(
        login(guarded, "ann"), "shop", ServedStore(tmp_path, Texts(tmp_path / "texts"))
    )
    put(root, KEY, INNER.encode())
    document = until(lambda: followed.current().documents.get("ranker"))
    assert followed.accept([document])
    assert "ranker" not in [each.id for each in followed.versions()]
    followed.close()
    root.close()


def test_who_may_not_even_read_keeps_waiting_and_says_why(guarded: EtcdServer) -> None:
    client = login(guarded, "nobody")
    mirror = Mirror(client, b"/config/", prefix_end(b"/config/"))
    assert not mirror.wait(10)
    assert "permission denied" in mirror.why_away
    mirror.close()
    client.close()


# --- certificates ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "other.pem"))
    for name in ("127.0.0.1", "client"):
        issued = authority.issue_cert(name)
        issued.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        issued.cert_chain_pems[0].write_to_path(str(folder / f"{name}.pem"))
    return folder


@pytest.fixture(scope="module")
def secret(certificates: Path) -> Iterator[EtcdServer]:
    """An etcd that speaks to those it knows only, and in secret."""
    server = EtcdServer(
        find_etcd(),
        *("--cert-file", str(certificates / "127.0.0.1.pem")),
        *("--key-file", str(certificates / "127.0.0.1.key")),
        *("--trusted-ca-file", str(certificates / "ca.pem"), "--client-cert-auth"),
        scheme="https",
    )
    yield server
    server.stop()


def over_tls(server: EtcdServer, certificates: Path, *, ca: str, name: str = "") -> EtcdClient:
    return EtcdClient(
        EtcdOptions(
            (server.endpoint,),
            ca_file=str(certificates / f"{ca}.pem"),
            cert_file=str(certificates / f"{name}.pem") if name else "",
            key_file=str(certificates / f"{name}.key") if name else "",
        )
    )


def test_a_client_with_a_certificate_is_spoken_to_in_secret(
    secret: EtcdServer, certificates: Path
) -> None:
    client = over_tls(secret, certificates, ca="ca", name="client")
    put(client, b"a", b"1")
    mirror = Mirror(client, b"a", b"b")
    assert mirror.wait(10)
    mirror.close()
    client.close()


@pytest.mark.parametrize(("ca", "name"), [("ca", ""), ("other", "client")])
def test_a_stranger_is_not_spoken_to(
    secret: EtcdServer, certificates: Path, ca: str, name: str
) -> None:
    client = over_tls(secret, certificates, ca=ca, name=name)
    with pytest.raises(Unreachable):
        client.get(b"a")
    client.close()
