"""What a server tells about itself, read into what a person looks at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import DecodeError

from inferflow._proto.pool import message_class
from inferflow.errors import RemoteFailed
from inferflow.explanation import Explanation, item_text, run_text

GET_RECORDING = "/inferflow.v1.Operate/GetRecording"
LIST_RECORDINGS = "/inferflow.v1.Operate/ListRecordings"
LIST_CONFIGS = "/inferflow.v1.Operate/ListConfigs"
METHODS = (GET_RECORDING, LIST_RECORDINGS, LIST_CONFIGS)

_GetRecording = message_class("inferflow.v1.GetRecordingRequest")
_ListRecordings = message_class("inferflow.v1.ListRecordingsRequest")
_ListConfigs = message_class("inferflow.v1.ListConfigsRequest")
_Document = message_class("inferflow.v1.Document")

Facts = Mapping[str, Any]


def recording_request(recording: str, item: str) -> bytes:
    return _written(_GetRecording(recording=recording, item=item))


def recordings_request(last: int) -> bytes:
    return _written(_ListRecordings(last=last))


def configs_request() -> bytes:
    return _written(_ListConfigs())


def _written(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body


def read_document(body: bytes) -> Any:
    """Raises RemoteFailed when these bytes are no document."""
    try:
        return json.loads(_Document.FromString(body).json)
    except (DecodeError, ValueError):
        raise RemoteFailed("OK", "these bytes are no document") from None


def explained_run(document: Facts, items: Callable[[str], Explanation]) -> Explanation:
    run = document["run"]
    if run is not None:
        return Explanation(run, run_text(run), run["failure"], items)
    asked = document["model_config_id"] or document["method"]
    text = f"{asked}: refused before anything was scored: {document['error']}"
    return Explanation(document, text, document["error"], items)


def explained_item(document: Facts) -> Explanation:
    facts = document["item"]
    return Explanation(facts, item_text(facts), (document["run"] or {}).get("failure", ""))


def has_begun(document: Facts) -> bool:
    """Whether any step was come to, so that there is something to see."""
    return any(step["duration_us"] for step in (document["run"] or {}).get("steps", ()))
