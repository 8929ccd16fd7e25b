"""A project folder pushed to a real etcd and Redis, and through a real feature service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from inferflow.app.pushing.outcome import Outcome, Part
from inferflow.app.pushing.project import Order, push_project
from inferflow.app.scaffold import write_starter
from inferflow.app.settings import read_settings
from inferflow.app.wiring import open_backend
from inferflow.errors import InvalidInput
from inferflow.rpc.etcd import EtcdClient

from ..servers.etcd import EtcdServer, etcd, put, until  # noqa: F401
from ..servers.redis import RedisServer, new_namespace, redis_server  # noqa: F401
from . import feature_store_process
from .serving_process import MAIN

Says = dict[tuple[str, str], str]
Environment = Callable[..., None]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    write_starter(tmp_path / "books")
    return tmp_path / "books"


@pytest.fixture
def home(
    etcd: EtcdServer,  # noqa: F811
    redis_server: RedisServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The application's name; etcd and Redis are set."""
    app = etcd.new_app()
    monkeypatch.setenv("ETCD_ENDPOINTS", etcd.endpoint)
    monkeypatch.setenv("APP_NAME", app)
    monkeypatch.setenv("INFERFLOW_FEATURE_BACKEND", "redis")
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("INFERFLOW_REDIS_NAMESPACE", f"{new_namespace()}-{os.getpid()}-push")
    return app


def pushed(folder: Path, *parts: Part, dry_run: bool = False) -> Says:
    """What became of each piece."""
    order = Order(parts=parts, author="ann", dry_run=dry_run)
    return {(each.part, each.name): each.state for each in push_project(folder, order)}


def told(folder: Path, part: Part, name: str) -> Outcome:
    outcomes = push_project(folder, Order(author="ann"))
    (found,) = [each for each in outcomes if (each.part, each.name) == (part, name)]
    return found


EVERYTHING = [
    ("features", "schema"),
    ("features", "book.facts.csv"),
    ("features", "user.profile.csv"),
    ("expressions", "pick"),
    ("configs", "ranker"),
]


def test_a_push_fills_etcd_and_redis_and_a_second_one_changes_nothing(
    books: Path, home: str
) -> None:
    first = {**dict.fromkeys(EVERYTHING, "differs"), ("models", ""): "skipped"}
    assert pushed(books, dry_run=True) == first
    with closing(open_backend(books, read_settings(books))) as redis:
        assert list(redis.scan(b"")) == []
    assert pushed(books) == {**dict.fromkeys(EVERYTHING, "pushed"), ("models", ""): "skipped"}
    again = {**dict.fromkeys(EVERYTHING, "unchanged"), ("models", ""): "skipped"}
    assert pushed(books) == again


def test_only_what_is_chosen_is_pushed(books: Path, home: str) -> None:
    assert pushed(books, "expressions") == {("expressions", "pick"): "pushed"}
    assert set(pushed(books, "configs", "features", dry_run=True).values()) == {"differs"}


def test_the_command_says_what_it_did_and_fails_when_something_was_not_pushed(
    books: Path, home: str
) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", MAIN, "push", str(books), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    (books / "expressions.yaml").write_text('pick: "like"\nworse: "like +"\n')
    done = run("--expressions", "--features", "--json")
    assert done.returncode == 1, done.stderr
    states = {each["name"]: each["state"] for each in json.loads(done.stdout)["outcomes"]}
    assert (states["pick"], states["worse"], states["schema"]) == ("pushed", "refused", "pushed")
    done = run("--expressions")
    assert "pick: there already" in done.stdout
    assert "1 not pushed" in done.stdout


def test_a_row_that_does_not_fit_is_named_and_configs_wait_until_it_does(
    books: Path, home: str
) -> None:
    table = books / "features" / "user.profile.csv"
    good = table.read_text()
    table.write_text(good.replace("ben,3", "ben,many"))
    refused = told(books, "features", "user.profile.csv")
    assert refused.state == "refused"
    assert "row 2" in refused.text
    assert told(books, "configs", "").state == "skipped"
    table.write_text(good)
    assert told(books, "configs", "ranker").state == "pushed"


def test_a_config_that_gets_its_golden_request_wrong_stays_out(books: Path, home: str) -> None:
    pushed(books)
    config = books / "configs" / "ranker.yaml"
    config.write_text(config.read_text().replace("compute_id: pick", "compute_id: pack"))
    (books / "expressions.yaml").write_text('pick: "like"\npack: "like * 2"\n')
    refused = told(books, "configs", "ranker")
    assert refused.state == "refused"
    assert "golden" in refused.text


def test_what_somebody_wrote_by_hand_meanwhile_is_not_overwritten(
    books: Path,
    home: str,
    etcd: EtcdServer,  # noqa: F811
) -> None:
    pushed(books)
    client: EtcdClient = etcd.client()
    key = f"/config/inferflow/services/{home}/model-config/config-map/ranker".encode()
    put(client, key, b'{"response_config": {"features": []}}')
    config = books / "configs" / "ranker.yaml"
    config.write_text(f"# mine\n{config.read_text()}")
    assert told(books, "configs", "ranker").state == "refused"
    found = client.get(key)
    client.close()
    assert found is not None
    assert found.value.startswith(b'{"response_config"')


def test_rows_go_through_a_feature_service_that_learns_the_schema_from_etcd(
    books: Path, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    popen = feature_store_process.launch(tmp_path / "empty", "--port", "0", "--http-port", "0")
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    process = feature_store_process.Process(popen, 0, lines[1].split()[1].partition("/health")[0])
    try:
        assert "no feature schema" in lines[2]
        assert home in lines[2]
        monkeypatch.setenv("externalServiceOnFs_host", lines[0].split()[1])
        assert set(pushed(books, "features", dry_run=True).values()) == {"differs"}
        assert set(pushed(books, "features").values()) == {"pushed"}
        until(lambda: process.get("/health/ready")[0] == 200)
        assert set(pushed(books, "features").values()) == {"unchanged"}
        table = books / "features" / "user.profile.csv"
        table.write_text(table.read_text().replace("ben,3", "ben,4"))
        outcome = told(books, "features", "user.profile.csv")
        assert (outcome.state, outcome.text) == ("pushed", "1 of 5 row(s)")
    finally:
        process.close()


def test_a_part_without_a_place_is_refused_before_anything_is_pushed(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ETCD_ENDPOINTS", raising=False)
    with pytest.raises(InvalidInput, match="ETCD_ENDPOINTS"):
        push_project(books, Order())
    with pytest.raises(InvalidInput, match="models: there is no manager"):
        push_project(books, Order(parts=("models",)))


def test_an_etcd_that_is_away_is_named_and_nothing_else_is_tried(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_ENDPOINTS", "127.0.0.1:1")
    monkeypatch.setenv("ETCD_DIAL_TIMEOUT", "100ms")
    outcomes = push_project(books, Order())
    assert {each.part: each.state for each in outcomes} == {
        "features": "refused",
        "expressions": "refused",
        "models": "skipped",
        "configs": "skipped",
    }
    assert "127.0.0.1:1" in outcomes[0].text
