"""A project that is in etcd alone: where its folder has nothing but models, or nothing at all.

That everything pushed and served so scores as the folder does is shown in `test_distributed`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import inferflow
from inferflow.app.pushing.project import Order, push_project
from inferflow.app.scaffold import write_starter
from inferflow.app.watching import open_reloading
from inferflow.errors import ConfigStoreFailed, Unauthenticated

from ..servers.etcd import EtcdServer, fragile_etcd, until  # noqa: F401
from .same_scores import assert_same
from .serving_process import Process, launch


@pytest.fixture
def books(
    fragile_etcd: EtcdServer,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A folder with models alone, which is what a container may bring; the rest is for etcd."""
    monkeypatch.setenv("ETCD_ENDPOINTS", fragile_etcd.endpoint)
    monkeypatch.setenv("ETCD_DIAL_TIMEOUT", "2s")
    monkeypatch.setenv("APP_NAME", "books")
    monkeypatch.setenv("INFERFLOW_FEATURE_BACKEND", "memory")
    write_starter(tmp_path / "books")
    (tmp_path / "container").mkdir()
    (tmp_path / "container" / "models").symlink_to(tmp_path / "books" / "models")
    return tmp_path / "books"


ASKED = {"model_config_id": "ranker", "entities": {"user": ["ada"], "book": ["1", "2"]}}


def test_a_server_names_what_it_waits_for_and_scores_as_soon_as_it_is_pushed(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = launch(books.parent / "container", "--port", "0", "--http-port", "0")
    assert popen.stdout is not None
    grpc, http, state = (popen.stdout.readline() for _ in range(3))
    process = Process(popen, 0, http.split()[1].partition("/health")[0])
    try:
        assert "has none in /config/inferflow/services/books/model-config/" in state
        assert process.get("/health/ready")[0] == 503
        push_project(books, Order(author="ann"))
        until(lambda: process.get("/health/ready")[0] == 200)
        with inferflow.connect(grpc.split()[1]) as far:
            answer = far.answer(ASKED)
    finally:
        process.close()
    monkeypatch.delenv("ETCD_ENDPOINTS")
    for data in (books / "features").glob("*.csv"):
        data.unlink()  # of which the server has none
    with inferflow.open(books) as near:
        assert_same(near.answer(ASKED), answer)


def test_a_first_start_without_etcd_names_it_and_gets_ready_by_itself(
    books: Path,
    fragile_etcd: EtcdServer,  # noqa: F811
) -> None:
    fragile_etcd.kill()
    embedded, reloader = open_reloading(books.parent / "container")
    try:
        assert fragile_etcd.address in embedded.not_ready()
        assert "has not answered" in embedded.not_ready()
        fragile_etcd.start()
        until(lambda: "has none in" in (reloader.check_now() and embedded.not_ready()))
        push_project(books, Order(author="ann"))
        until(lambda: reloader.check_now() and not embedded.not_ready())
        assert embedded.store.schema.entities.keys() == {"user", "book"}
        assert embedded.book.ids == ("ranker",)
    finally:
        reloader.close()
        embedded.close()


@pytest.mark.scenario("C2")
def test_a_later_start_without_etcd_serves_what_was_served_last(
    books: Path,
    fragile_etcd: EtcdServer,  # noqa: F811
) -> None:
    push_project(books, Order(author="ann"))
    container = books.parent / "container"
    with inferflow.open(container, watch=True) as flow:
        before = flow.answer(ASKED)
    fragile_etcd.kill()
    with inferflow.open(container, watch=True) as flow:
        assert_same(before, flow.answer(ASKED))


def test_a_schema_that_goes_bad_in_etcd_changes_nothing_and_a_better_one_is_taken_up(
    books: Path,
    fragile_etcd: EtcdServer,  # noqa: F811
) -> None:
    push_project(books, Order(author="ann"))
    key = "/config/inferflow/services/books/inputs/feature-schema"
    embedded, reloader = open_reloading(books.parent / "container")
    try:
        fragile_etcd.ctl("put", key, "entities: [wrong]")
        until(lambda: reloader.check_now().findings)
        assert embedded.book.ids == ("ranker",)
        text = (books / "features" / "schema.yaml").read_text()
        fragile_etcd.ctl("put", key, text.replace("default: 12.0", "default: 13.0"))
        until(lambda: not reloader.check_now().findings)
        price = embedded.store.schema.group("book", "facts").features["price"]
        assert price.default == 13.0
    finally:
        reloader.close()
        embedded.close()


def test_wrong_credentials_are_named_and_what_is_mended_needs_no_restart(
    books: Path,
    fragile_etcd: EtcdServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    push_project(books, Order(author="ann"))
    for step in (["user", "add", "root:secret"], ["user", "grant-role", "root", "root"]):
        fragile_etcd.ctl(*step)
    fragile_etcd.ctl("auth", "enable")
    monkeypatch.setenv("ETCD_USERNAME", "root")
    monkeypatch.setenv("ETCD_PASSWORD", "wrong")
    container = books.parent / "container"
    with pytest.raises(Unauthenticated, match="does not know who asks"):
        inferflow.open(container)
    embedded, reloader = open_reloading(container)
    try:
        until(lambda: "does not know who asks" in embedded.not_ready())
        fragile_etcd.ctl("--user", "root:secret", "auth", "disable")
        until(lambda: reloader.check_now() and not embedded.not_ready())
    finally:
        reloader.close()
        embedded.close()


def test_looking_once_asks_etcd_and_says_when_it_is_away(
    books: Path,
    fragile_etcd: EtcdServer,  # noqa: F811
) -> None:
    push_project(books, Order(author="ann"))
    with inferflow.open(books.parent / "container") as flow:
        assert flow.configs == ("ranker",)
    fragile_etcd.kill()
    with pytest.raises(ConfigStoreFailed, match=fragile_etcd.address):
        inferflow.open(books.parent / "container")
