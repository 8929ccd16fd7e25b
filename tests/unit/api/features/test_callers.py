"""Who may read, and who may write."""

from __future__ import annotations

from hashlib import sha256

import grpc
import pytest

from inferflow.access import CallerBook, Gate
from inferflow.app.feature_callers import read_callers
from inferflow.app.feature_store_settings import CallerTable
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema

from .calls import Headers, called, query, writing

SCHEMA = {"entities": {"item": {"keys": ["id"], "groups": {"g": {"features": {"f": "FP32"}}}}}}
TABLES = {
    "reader": CallerTable(token="r1", sha256=(sha256(b"r2").hexdigest(),)),
    "writer": CallerTable(token="w", rights=("write",)),
}


def headers(name: str, token: str) -> Headers:
    return [("online-feature-store-caller-id", name), ("online-feature-store-auth-token", token)]


def outcome(method: str, *sent: tuple[str, str]) -> str:
    """The status a call with these headers ends with."""
    store = FeatureStore(parse_schema(SCHEMA), MemoryBackend())
    asked = {
        "retrieve": query("item", [("g", ["f"])], [["1"]]),
        "decoded": query("item", [("g", ["f"])], [["1"]]),
        "persist": writing("item", [("g", ["f"])], [(["1"], [{"fp32_values": [1]}])]),
    }[method]
    try:
        gate = Gate([], lambda: 0.0, callers=CallerBook(read_callers(None, TABLES)))
        called(store, lambda caller: getattr(caller, method)(asked, sent), gate=gate)
    except grpc.aio.AioRpcError as refused:
        return f"{refused.code().name}: {refused.details()}"
    return "OK"


@pytest.mark.parametrize("token", ["r1", "r2"])
def test_a_reader_reads_with_either_of_its_tokens_and_does_not_write(token: str) -> None:
    assert outcome("retrieve", *headers("reader", token)) == "OK"
    assert outcome("decoded", *headers("reader", token)) == "OK"
    denied = outcome("persist", *headers("reader", token))
    assert denied == "PERMISSION_DENIED: key 'caller:reader' lacks the permission 'configure'"


def test_a_writer_writes_and_does_not_read() -> None:
    assert outcome("persist", *headers("writer", "w")) == "OK"
    assert outcome("retrieve", *headers("writer", "w")).startswith("PERMISSION_DENIED")


def test_a_header_that_is_missing_is_named() -> None:
    name, token = headers("reader", "r1")
    assert outcome("retrieve", name) == (
        "INVALID_ARGUMENT: online-feature-store-auth-token: this header is missing"
    )
    assert outcome("retrieve", token).startswith("INVALID_ARGUMENT: online-feature-store-caller-id")


@pytest.mark.parametrize("sent", [headers("reader", "w"), headers("nobody", "r1")])
def test_a_wrong_name_and_a_wrong_token_sound_alike(sent: Headers) -> None:
    found = outcome("retrieve", *sent)
    assert found.startswith("UNAUTHENTICATED")
    assert found == outcome("retrieve", *headers("other", "other"))
