"""The columns of inference logs, for decoders that ask over HTTP.

They ask by config and version, at a path they know; `schema=DIGEST` names exactly one list, where
a config had several under one version.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

from inferflow.api.http import JSON, Reply, TreeRoute
from inferflow.api.status import status_of, text_of
from inferflow.errors import InferflowError, InvalidRequest
from inferflow.inferlog.schema import VERSIONS, LogSchema

PATH = "/api/v1/inference/mp-config-registry/get_feature_schema"

Find = Callable[[str, int, str], LogSchema]


def log_schema_trees(find: Find) -> dict[str, TreeRoute]:
    """To be mounted in an HTTP server. `find` raises NotFound for what it does not know."""

    async def answer(target: str) -> Reply:
        parts = urlsplit(target)
        if parts.path != PATH:
            return Reply(b"not found\n", 404)
        try:
            asked = _asked(dict(parse_qsl(parts.query)))
            schema = await asyncio.to_thread(find, *asked)  # it may have to look at files
        except InferflowError as refused:
            body = json.dumps({"error": text_of(refused)}).encode()
            return Reply(body, status_of(refused).http, JSON)
        return Reply(json.dumps(schema.to_dict()).encode(), content_type=JSON)

    return {PATH: answer}


def _asked(query: dict[str, str]) -> tuple[str, int, str]:
    config_id, version = query.get("model_config_id", ""), query.get("version", "")
    if not config_id:
        raise InvalidRequest("model_config_id", "is required")
    if not version.isdecimal() or int(version) >= VERSIONS:
        raise InvalidRequest("version", f"a number from 0 to {VERSIONS - 1} is wanted")
    return config_id, int(version), query.get("schema", "")
