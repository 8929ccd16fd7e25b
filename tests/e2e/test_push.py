"""A project folder pushed to a real etcd and Redis, and through a real feature service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from inferflow.app.config_stores import open_configs
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
from .role_process import MAIN

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


# --- what is in etcd alone, and what holds for all configs ----------------------------------------


def pruned(folder: Path, *parts: Part, may: bool = True, dry_run: bool = False) -> Says:
    asked: list[list[str]] = []

    def answer(spare: Sequence[Outcome]) -> bool:
        asked.append([each.name for each in spare])
        return may

    order = Order(parts=parts, author="ann", dry_run=dry_run, prune=answer)
    outcomes = push_project(folder, order)
    assert len(asked) <= 1
    assert not (asked and dry_run)
    return {(each.part, each.name): each.state for each in outcomes if each.state != "unchanged"}


@pytest.fixture
def grown(books: Path, home: str) -> Path:
    """A folder of which a config and an expression have gone since it was pushed."""
    ranker = (books / "configs" / "ranker.yaml").read_text()
    (books / "configs" / "older.yaml").write_text(ranker.replace("ranker:", "older:", 1))
    expressions = (books / "expressions.yaml").read_text()
    (books / "expressions.yaml").write_text(f'{expressions}\nolder: "like * 2"\n')
    assert pushed(books)["configs", "older"] == "pushed"
    (books / "configs" / "older.yaml").unlink()
    (books / "expressions.yaml").write_text(expressions)
    return books


GONE = {("configs", "older"): "deleted", ("expressions", "older"): "deleted"}
NO_MODELS = {("models", ""): "skipped"}


def test_what_is_in_etcd_alone_stays_unless_it_is_to_be_pruned(
    grown: Path,
    home: str,
    etcd: EtcdServer,  # noqa: F811
) -> None:
    assert set(pushed(grown).values()) == {"unchanged", "skipped"}
    listed = dict.fromkeys(GONE, "differs")
    assert pruned(grown, dry_run=True) == {**listed, **NO_MODELS}
    assert pruned(grown, may=False) == {("configs", ""): "skipped", **NO_MODELS}
    assert pruned(grown, "expressions", may=False) == {("expressions", ""): "skipped"}
    assert pruned(grown) == {**GONE, **NO_MODELS}
    assert pruned(grown) == NO_MODELS
    with closing(open_configs(grown, read_settings(grown))) as store:
        assert sorted(store.current().documents) == ["ranker"]
        assert store.history("older")[-1].is_removal


def test_nothing_is_pruned_after_something_was_not_pushed(grown: Path, home: str) -> None:
    (grown / "expressions.yaml").write_text('pick: "like"\nworse: "like +"\n')
    found = pruned(grown)
    assert ("configs", "older") not in found
    assert found["expressions", "worse"] == "refused"


def test_a_folder_without_configs_prunes_none(grown: Path, home: str) -> None:
    (grown / "configs" / "ranker.yaml").unlink()
    assert pruned(grown, "configs") == {}


def test_a_split_that_needs_what_would_be_pruned_is_refused(grown: Path, home: str) -> None:
    split = '{"ab": {"ranker": 50, "older": 50}}'
    (grown / "configs" / "both.json").write_text(split)
    assert pruned(grown, "configs")["configs", "both"] == "refused"
    assert pushed(grown, "configs")["configs", "both"] == "pushed"


def test_what_the_project_says_for_all_configs_is_pushed_too(
    books: Path,
    home: str,
    etcd: EtcdServer,  # noqa: F811
) -> None:
    place = ("configs", "[service]")
    assert place not in pushed(books)
    (books / "inferflow.toml").write_text('[service]\nv2-logging-type = "arrow"\n')
    assert pushed(books, dry_run=True)[place] == "differs"
    assert pushed(books)[place] == "pushed"
    assert pushed(books)[place] == "unchanged"
    base = f"/config/inferflow/services/{home}/model-config/service-config"
    with closing(etcd.client()) as client:
        put(client, base.encode(), b'{"v2-logging-type": "proto", "compression-enabled": true}')
        put(client, f"{base}/compression-enabled".encode(), b"false")
        toml = '[service]\nv2_logging_type = "parquet"\ncompression_enabled = true\n'
        (books / "inferflow.toml").write_text(toml)
        assert pushed(books)[place] == "pushed"
        whole, single = (client.get(key.encode()) for key in (base, f"{base}/compression-enabled"))
    assert whole is not None
    assert json.loads(whole.value) == {"v2_logging_type": "parquet", "compression-enabled": True}
    assert single is not None
    assert single.value == b"true"
