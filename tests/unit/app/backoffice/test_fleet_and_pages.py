"""A fleet asked through its manager, servers about themselves, and settings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from inferflow.api.gateway.management.log_shapes import SettingList
from inferflow.api.gateway.management.ports import KeyWish, LogQuery
from inferflow.app.backoffice import office
from inferflow.app.backoffice.fleet import ManagedFleet
from inferflow.app.backoffice.logs import ProjectLogs
from inferflow.app.backoffice.pages import RemotePages
from inferflow.app.backoffice.settings_page import ProjectSettings
from inferflow.app.settings import read_settings
from inferflow.errors import RegistryConflict

_ANSWERS: dict[str, Any] = {
    "create_key": {"key": {"key_id": "k"}, "secret": "ifk_once"},
    "keys": [{"key_id": "k"}, {"key_id": "000100010001"}],
    "revoke_key": {"key_id": "k"},
}


class Admin:
    """Answers every call with its name, and keeps what it was asked."""

    def __init__(self, key: str, asked: list[Any]) -> None:
        self._key = key
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            self._asked.append((self._key, name, given, named))
            return _ANSWERS.get(name, name)

        return call

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self._asked.append("closed")


class OwnFleet:
    address, tls, key = "127.0.0.1:1", None, "ifk_000200020002_" + "b" * 43

    async def administrator(self) -> str:
        return "own"


def test_the_fleet_of_this_process_is_not_shown_keys_that_it_cannot_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(office, "FleetAdmin", lambda _, key, **__: Admin(key, asked))
    fleet: Any = OwnFleet()

    async def ask() -> None:
        managed = await office.fleet_of_this_process(fleet)
        await managed.models("a key of a file")

    asyncio.run(ask())
    assert asked[0][:2] == ("own", "models")


def test_each_call_is_made_with_the_key_of_whoever_asks_and_then_closed() -> None:
    asked: list[Any] = []
    opened: Any = lambda key: Admin(key, asked)  # noqa: E731
    fleet = ManagedFleet(opened, "own")

    async def ask() -> None:
        assert await fleet.models("hers") == "models"
        assert await fleet.model("", "like") == "model"
        await fleet.upload(
            "", "like", {"model.onnx": Path("x")}, version="1", stage="", description="d"
        )
        await fleet.promote("", "like", "1", "staging", "why")
        await fleet.delete_version("", "like", "1")
        await fleet.set_traffic("", "like", {"1": 100.0})
        await fleet.workers("")
        await fleet.drain("", "w")
        await fleet.keys("")
        await fleet.revoke_key("", "k")
        await fleet.audit("", 5)
        made = await fleet.create_key("", KeyWish("n", ["view"], ["a*"], 7, 2.0, 3))
        assert made == {"key": {"key_id": "k", "is_own": False}, "text": "ifk_once"}

    asyncio.run(ask())
    assert asked[:4] == [
        ("hers", "models", (), {}),
        "closed",
        ("own", "model", ("like",), {}),
        "closed",
    ]
    limits = {"models": ["a*"], "expires_ms": 7, "per_second": 2.0, "burst": 3}
    assert ("own", "create_key", ("n", ["view"]), limits) in asked
    assert asked.count("closed") == 12


def test_what_a_gateway_calls_with_is_marked_and_cannot_be_revoked_by_it() -> None:
    asked: list[Any] = []
    opened: Any = lambda key: Admin(key, asked)  # noqa: E731
    own, workers = f"ifk_000100010001_{'a' * 43}", f"ifk_000200020002_{'b' * 43}"
    fleet = ManagedFleet(opened, own, also_own=[workers])
    assert [each["is_own"] for each in asyncio.run(fleet.keys(""))] == [False, True]
    for key_id in ("000100010001", "000200020002"):
        with pytest.raises(RegistryConflict, match="this gateway calls its fleet with"):
            asyncio.run(fleet.revoke_key("hers", key_id))
    assert [each[1] for each in asked if each != "closed"] == ["keys"]


def test_servers_elsewhere_are_asked_over_a_client() -> None:
    class Client:
        async def configs(self) -> list[Any]:
            return ["config"]

        async def recordings(self, last: int) -> list[Any]:
            return [last]

        async def recording(self, recording: str, item: str) -> dict[str, Any]:
            return {recording: item}

    client: Any = Client()
    pages = RemotePages(client)
    assert asyncio.run(pages.configs()) == ["config"]
    assert asyncio.run(pages.latest(5)) == [5]
    assert asyncio.run(pages.get("a-1", "7")) == {"a-1": "7"}


def test_settings_are_told_with_secrets_as_stars(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text("[etcd]\npassword = 'hush'\n")
    found = asyncio.run(ProjectSettings(tmp_path, {}).settings())
    SettingList.model_validate({"settings": found})
    told = {each["name"]: each for each in found}
    assert (told["etcd.password"]["value"], told["etcd.password"]["source"]) == (
        "***",
        "inferflow.toml",
    )
    assert "hush" not in str(found)
    assert told["gateway.port"]["environment"]


def test_a_log_that_is_off_has_no_records_and_says_so(starter: Path) -> None:
    logs = ProjectLogs(starter, read_settings(starter))
    assert asyncio.run(logs.page(LogQuery())) == {"sink": "off", "records": [], "next": None}
    assert asyncio.run(logs.stats()) == {"configs": [], "unreadable": []}


def test_a_log_in_files_is_read_back(starter: Path) -> None:
    from inferflow.app.flow import open_flow

    config = starter / "configs/ranker.yaml"
    text = config.read_text().replace(
        "response_config:\n", "response_config:\n    logging_perc: 100\n"
    )
    config.write_text(text)
    sink = read_settings(starter).logs.model_copy(update={"sink": "files"})
    with open_flow(starter, settings={"logs": sink}) as flow:
        flow.score("ranker", user="ada", book=["1", "2"], tracking_id="t1")
    logs = ProjectLogs(starter, read_settings(starter, {"logs": sink}))
    told = asyncio.run(logs.page(LogQuery(config_id="ranker")))
    (record,) = told["records"]
    assert (told["sink"], told["next"]) == ("files", None)
    assert (record["tracking_id"], record["kind"]) == ("t1", "targets")
    assert [row["id"] for row in record["rows"]] == ["1", "2"]
    (file,) = starter.rglob("*.parquet")
    damaged = file.with_name(f"{file.stem}-0.parquet")
    damaged.write_bytes(b"PAR1 and no more")
    counted = asyncio.run(logs.stats())
    assert counted["configs"][0]["requests"] == 1
    assert [Path(each).name for each in counted["unreadable"]] == [damaged.name]
