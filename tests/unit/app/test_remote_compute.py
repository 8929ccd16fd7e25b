"""A project whose expressions a service is to compute, as its settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

import inferflow
from inferflow.app.project_compute import ProjectCompute
from inferflow.app.settings import read_settings
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.errors import InvalidInput

HOST = "numerixClientV1_host"


def test_expressions_are_computed_here_unless_a_service_is_named(tmp_path: Path) -> None:
    compute = ProjectCompute(read_settings(tmp_path))
    assert isinstance(compute.over(ExpressionBook({})), EmbeddedCompute)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("numerix", "numerix:8083"),
        ("numerix:50052", "numerix:50052"),
        ("one:1, two", "one:1,two:8083"),
        ("", ""),
    ],
)
def test_hosts_without_a_port_have_the_one_that_is_set(
    host: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST, host)
    assert read_settings(tmp_path).numerix.address == address


def test_certificates_that_cannot_be_used_are_told_when_the_project_is_opened(
    starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST, "numerix")
    monkeypatch.setenv("NUMERIX_CLIENT_V1_PLAINTEXT", "false")
    monkeypatch.setenv("INFERFLOW_TLS_CERT", "client.pem")
    with pytest.raises(InvalidInput, match=r"tls\.cert: there is no tls\.key"):
        inferflow.open(starter)


def test_a_service_that_cannot_be_reached_leaves_its_rows_blank(
    starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOST, "127.0.0.1:1")
    with inferflow.open(starter) as flow:
        scores = flow.score("ranker", user="ada", book=["1", "2"])
    assert scores.targets is not None
    assert all("127.0.0.1:1" in why for why in scores.targets.errors)
