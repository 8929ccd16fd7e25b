"""Documents of a server, read into explanations."""

from __future__ import annotations

from typing import Any

import pytest
from grpc import StatusCode

from inferflow._proto.pool import message_class
from inferflow.client.aio import headers_of
from inferflow.client.explaining import explained_run, has_begun, read_document
from inferflow.client.failures import Refusal, error_of
from inferflow.engine.request import ScoreRequest
from inferflow.errors import PermissionDenied, RemoteFailed
from inferflow.explanation import Explanation

Document = message_class("inferflow.v1.Document")


def nobody(item: str) -> Explanation:
    raise AssertionError(item)


def refusal(code: StatusCode, details: str, **trailing: str) -> Refusal:
    return Refusal(code, details, trailing, "ranker", "here:1", 100.0, 1)


def test_a_document_is_the_json_in_the_message() -> None:
    assert read_document(Document(json='{"a": [1]}').SerializeToString()) == {"a": [1]}


@pytest.mark.parametrize("body", [b"\xff\xff", Document(json="{").SerializeToString()])
def test_bytes_that_are_no_document_are_told(body: bytes) -> None:
    with pytest.raises(RemoteFailed, match="no document"):
        read_document(body)


def test_a_call_that_was_never_scored_is_explained_by_its_error() -> None:
    facts: dict[str, Any] = {
        "run": None,
        "model_config_id": "",
        "method": "/Predict/InferPointWise",
        "error": "InvalidRequest",
    }
    explained = explained_run(facts, nobody)
    assert str(explained) == (
        "/Predict/InferPointWise: refused before anything was scored: InvalidRequest"
    )
    assert explained.failure == "InvalidRequest"
    assert not has_begun(facts)


@pytest.mark.parametrize(("duration_us", "begun"), [(0.0, False), (2.0, True)])
def test_a_run_has_begun_when_a_step_has(duration_us: float, begun: bool) -> None:
    assert has_begun({"run": {"steps": [{"duration_us": duration_us}]}}) is begun


def test_an_error_knows_its_recording() -> None:
    failed = error_of(
        refusal(StatusCode.INTERNAL, "step failed", **{"x-inferflow-recording": "beef-1"})
    )
    assert failed.recording == "beef-1"
    assert error_of(refusal(StatusCode.INTERNAL, "step failed")).recording == ""


def test_who_may_not_look_is_told_in_the_servers_words() -> None:
    denied = error_of(refusal(StatusCode.PERMISSION_DENIED, "explain is off on this server"))
    assert isinstance(denied, PermissionDenied)
    assert str(denied) == "explain is off on this server"


def test_a_request_that_wants_to_be_explained_says_so_in_a_header() -> None:
    plain = ScoreRequest("ranker", {})
    assert headers_of(plain) == ()
    asking = ScoreRequest("ranker", {}, user_id="7", explain=True)
    assert headers_of(asking) == (("user-id", "7"), ("x-inferflow-explain", "1"))
