"""A registry as a repository."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from inferflow._proto.pool import message_class
from inferflow.client.sdk import relay
from inferflow.client.sdk.relay import FleetRelay
from inferflow.client.sdk.repository import repository_index
from inferflow.errors import InvalidRequest

MODELS: list[dict[str, Any]] = [
    {
        "name": "rank",
        "versions": [
            {"version": "1", "loaded_on": ["w1"], "problem": ""},
            {"version": "2", "loaded_on": [], "problem": ""},
            {"version": "3", "loaded_on": [], "problem": "its files are damaged"},
        ],
    }
]


def listed(index: Any) -> list[tuple[str, str, str]]:
    return [(each.version, each.state, each.reason) for each in index.models]


def test_a_version_is_ready_where_a_worker_holds_it_and_says_why_where_none_does() -> None:
    first, second, third = listed(repository_index(MODELS, only_ready=False))
    assert first == ("1", "READY", "")
    assert second[:2] == ("2", "UNAVAILABLE")
    assert "when it is asked for" in second[2]
    assert third == ("3", "UNAVAILABLE", "its files are damaged")
    assert listed(repository_index(MODELS, only_ready=True)) == [first]


def ask(method: str, **fields: Any) -> Any:
    async def asked() -> Any:
        passing_on = FleetRelay("127.0.0.1:1")
        request = message_class(f"inference.{method}Request")(**fields)
        shown = (("authorization", "Bearer hers"),)
        return await passing_on.ask(method, request, headers=shown, deadline_ms=1000)

    return asyncio.run(asked())


def test_a_fleet_is_listed_by_its_registry_with_the_key_of_whoever_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []

    class Admin:
        def __init__(self, _: Any, key: str, **__: Any) -> None:
            shown.append(key)

        def __enter__(self) -> Admin:
            return self

        def __exit__(self, *_: object) -> None: ...

        def models(self) -> list[dict[str, Any]]:
            return MODELS

    monkeypatch.setattr(relay, "FleetAdmin", Admin)
    assert [each.version for each in ask("RepositoryIndex", ready=True).models] == ["1"]
    assert shown == ["hers"]


@pytest.mark.parametrize("method", ["RepositoryModelLoad", "RepositoryModelUnload"])
def test_where_models_are_loaded_is_not_for_callers_to_say(method: str) -> None:
    with pytest.raises(InvalidRequest, match="manager decides where models are loaded"):
        ask(method, model_name="rank")
