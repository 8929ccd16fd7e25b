"""What a decoder asks for."""

from __future__ import annotations

import asyncio
import json

import pytest

from inferflow.api.http import Reply
from inferflow.api.log_schema import PATH, log_schema_trees
from inferflow.dtypes import FP32
from inferflow.errors import NotFound
from inferflow.inferlog.schema import LogField, LogSchema

SCHEMA = LogSchema("ranker", 3, (LogField("emb", FP32.vector, 8),))


def find(config_id: str, version: int, digest: str) -> LogSchema:
    if (config_id, version) == ("ranker", 3) and digest in ("", SCHEMA.digest):
        return SCHEMA
    raise NotFound("log schema", config_id)


def answer(target: str) -> Reply:
    route = log_schema_trees(find)[PATH]

    async def ask() -> Reply:
        reply = route(target)
        return reply if isinstance(reply, Reply) else await reply

    return asyncio.run(ask())


@pytest.mark.parametrize("more", ["", f"&schema={SCHEMA.digest}"])
def test_columns_are_listed_in_order_with_type_and_size(more: str) -> None:
    reply = answer(f"{PATH}?model_config_id=ranker&version=3{more}")
    assert reply.status == 200
    assert json.loads(reply.body)["data"] == [
        {"feature_name": "emb", "feature_type": "FP32Vector", "feature_size": 8}
    ]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?model_config_id=ranker&version=4", 404),
        ("?model_config_id=other&version=3", 404),
        ("?model_config_id=ranker&version=3&schema=0", 404),
        ("?model_config_id=ranker&version=16", 400),
        ("?model_config_id=ranker&version=x", 400),
        ("?model_config_id=ranker", 400),
        ("?version=3", 400),
        ("/more?model_config_id=ranker&version=3", 404),
    ],
)
def test_anything_else_says_what_is_wrong(query: str, status: int) -> None:
    assert answer(PATH + query).status == status
