"""`inferflow up` over TLS alone, for callers with a key: gRPC, and HTTP before it."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow
from inferflow.app.key_cards import create_key
from inferflow.app.scaffold import write_starter
from inferflow.errors import Unauthenticated, Unreachable

from ..servers.certificates import Certificates
from .fleet_process import Role, start

BOOKS = ["1", "2", "3"]
REQUEST = json.dumps({"entities": {"user": "ada", "book": BOOKS}}).encode()


class Up:
    def __init__(self, home: Path) -> None:
        self.certs = Certificates(home / "certs")
        cert, key = self.certs.server()
        self.tls = inferflow.Tls(self.certs.ca, *self.certs.client())
        self.key = create_key(home / "keys.json", "shop", ["inference"])["secret"]
        write_starter(home / "starter")
        self.role: Role = start(
            "up",
            home / "starter",
            *("--port", "0", "--http-port", "0", "--gateway-port", "0"),
            INFERFLOW_TLS_CERT=str(cert),
            INFERFLOW_TLS_KEY=str(key),
            INFERFLOW_TLS_CA=str(self.certs.ca),
            INFERFLOW_TLS_CLIENT_AUTH="required",
            INFERFLOW_KEYS_FILE=str(home / "keys.json"),
            INFERFLOW_DRAIN_PAUSE="0ms",
        )
        self.gateway = re.search(r"gateway  (https://\S+)", self.role.said)[1]  # type: ignore[index]

    def asked(self, key: str = "", *, shows: bool = True, url: str = "") -> int:
        """The status of a score over HTTP; 0 when nobody speaks."""
        context = ssl.create_default_context(cafile=str(self.certs.ca))
        if shows:
            context.load_cert_chain(*map(str, (self.tls.cert, self.tls.key)))
        headers = {"content-type": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        request = urllib.request.Request(
            f"{url or self.gateway}/v1/score/ranker", data=REQUEST, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code
        except (OSError, http.client.HTTPException):
            return 0


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    opened = Up(tmp_path_factory.mktemp("up"))
    yield opened
    opened.role.end()


def test_callers_with_certificate_and_key_are_answered_over_grpc_and_http(up: Up) -> None:
    with inferflow.connect(up.role.address, key=up.key, tls=up.tls, attempts=1) as client:
        assert client.score("ranker", user="ada", book=BOOKS).targets.errors == ["", "", ""]
    assert up.asked(up.key) == 200


def test_nobody_else_is(up: Up) -> None:
    with (
        inferflow.connect(up.role.address, tls=up.tls, attempts=1) as client,
        pytest.raises(Unauthenticated),
    ):
        client.score("ranker", user="ada", book=BOOKS)
    with (
        inferflow.connect(up.role.address, key=up.key, attempts=1) as client,
        pytest.raises(Unreachable),
    ):
        client.score("ranker", user="ada", book=BOOKS)
    assert up.asked() == 401
    assert up.asked(up.key, shows=False) == 0
    assert up.asked(up.key, url=up.gateway.replace("https", "http")) == 0
