"""What only the store over etcd does: others' forms, servers that follow, status."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from inferflow.configstore import Draft, Served, ServedStore, Texts
from inferflow.configstore.etcd import EtcdStore, FollowedStore, Layout, StatusBoard
from inferflow.errors import ConfigStoreFailed, InvalidInput, NotFound, Unreachable
from inferflow.rpc.etcd import Delete, EtcdClient, EtcdOptions, Put, Same, prefix_end

from ...robustness.scenario import StartScenario
from ...servers.etcd import EtcdServer, put, until
from ...servers.processes import free_port

INNER = {"response_config": {"features": ["a"]}}
YAML = "# ours\nranker:\n  response_config: {features: [a]}\n"


@pytest.fixture
def app(etcd: EtcdServer) -> str:
    return etcd.new_app()


@pytest.fixture
def client(etcd: EtcdServer) -> Iterator[EtcdClient]:
    client = etcd.client()
    yield client
    client.close()


@pytest.fixture
def store(etcd: EtcdServer, app: str) -> Iterator[EtcdStore]:
    store = EtcdStore(etcd.client(), app)
    yield store
    store.close()


@pytest.fixture
def prefix(app: str) -> str:
    return f"/config/inferflow/services/{app}/model-config/"


def draft(text: str, config_id: str = "ranker") -> Draft:
    return Draft(config_id, text, "yaml", "ann")


def json_at(client: EtcdClient, key: str) -> object:
    entry = client.get(key.encode())
    return None if entry is None else json.loads(entry.value)


# --- where the original reads too -----------------------------------------------------------


def test_a_yaml_text_is_kept_as_the_json_that_others_read(
    store: EtcdStore, client: EtcdClient, prefix: str
) -> None:
    store.push(draft(YAML))
    assert json_at(client, f"{prefix}config-map/ranker") == INNER
    assert store.get("ranker").text == YAML


def test_a_json_text_is_kept_to_the_last_blank(
    store: EtcdStore, client: EtcdClient, prefix: str
) -> None:
    text = json.dumps(INNER, indent=7) + "\n\n"
    store.push(Draft("ranker", text, "json", "ann"))
    entry = client.get(f"{prefix}config-map/ranker".encode())
    assert entry is not None
    assert entry.value.decode() == text


def test_a_text_that_json_cannot_hold_is_refused(store: EtcdStore) -> None:
    with pytest.raises(InvalidInput, match="cannot be kept as JSON"):
        store.push(draft("response_config: {features: [.nan]}"))
    assert store.history("ranker") == ()


def test_a_push_joins_a_split_config_into_one_key(
    store: EtcdStore, client: EtcdClient, prefix: str
) -> None:
    put(client, f"{prefix}config-map/ranker/response-config".encode(), b'{"features": ["old"]}')
    put(client, f"{prefix}config-map/ranker/component-config".encode(), b"{}")
    put(client, f"{prefix}config-map/ranker2/component-config".encode(), b"{}")
    assert store.accept([store.get("ranker")])
    store.push(draft(YAML), expected=1)
    start = prefix.encode()
    assert sorted(client.listing(start, prefix_end(start)).entries) == [
        f"{prefix}config-map/{each}".encode() for each in ("ranker", "ranker2/component-config")
    ]
    assert json.loads(store.text(store.history("ranker")[0])) == {
        "component_config": {},
        "response_config": {"features": ["old"]},
    }


def test_a_push_stays_with_the_spelling_there_is(
    store: EtcdStore, client: EtcdClient, prefix: str
) -> None:
    put(client, f"{prefix}configMap/ranker".encode(), b'{"response_config": {}}')
    store.push(draft(YAML))
    assert json_at(client, f"{prefix}configMap/ranker") == INNER
    assert json_at(client, f"{prefix}config-map/ranker") is None


def test_a_config_in_the_object_of_all_is_not_replaced_behind_its_back(
    store: EtcdStore, client: EtcdClient, prefix: str
) -> None:
    put(client, f"{prefix}config-map".encode(), json.dumps({"ranker": INNER}).encode())
    with pytest.raises(InvalidInput, match="holds all configs in one object"):
        store.push(draft(YAML))


@pytest.mark.scenario("C11")
def test_a_config_too_large_for_etcd_is_refused_with_the_reason(store: EtcdStore) -> None:
    features = ", ".join(f"feature_{number:06d}" for number in range(150_000))
    with pytest.raises(InvalidInput, match="no value as large as this"):
        store.push(draft(f"response_config: {{features: [{features}]}}"))
    with pytest.raises(NotFound):
        store.get("ranker")


def test_many_edits_are_recorded_at_once_and_once(
    store: EtcdStore, client: EtcdClient, etcd: EtcdServer, app: str, prefix: str
) -> None:
    for number in range(50):
        put(client, f"{prefix}config-map/c{number}".encode(), json.dumps(INNER).encode())
    documents = store.current().documents.values()
    other = EtcdStore(etcd.client(), app)
    assert store.accept(documents)
    assert other.accept(documents)
    assert [each.number for each in other.versions()] == [1] * 50
    other.close()


# --- when something goes wrong --------------------------------------------------------------


class Losing(EtcdClient):
    """Loses the answer to a push: before it was made, after it, or between two tries of it."""

    def __init__(self, options: EtcdOptions, when_lost: str) -> None:
        super().__init__(options)
        self._when_lost = when_lost

    def change(self, when: Iterable[Same], then: Iterable[Put | Delete]) -> int:
        is_push = bool(list(when))
        if is_push and self._when_lost == "before":
            raise Unreachable("etcd", 1, "lost")
        done = super().change(when, then)
        if is_push and self._when_lost == "after":
            raise Unreachable("etcd", 1, "lost")
        if is_push and self._when_lost == "between":
            return super().change(when, then)
        return done


@pytest.mark.parametrize("when_lost", ["after", "between"])
def test_a_push_whose_answer_was_lost_knows_its_own_doing(
    etcd: EtcdServer, app: str, when_lost: str, scenario: StartScenario
) -> None:
    tried = scenario("C14", "the answer to a push lost after it and in the midst")
    store = EtcdStore(Losing(EtcdOptions((etcd.endpoint,)), when_lost), app)
    version = store.push(draft(YAML), expected=0)
    made = list(store.history("ranker"))
    tried.at_most("versions made of one push", len(made), 1)
    assert made == [version]
    store.close()


def test_a_push_that_never_arrived_says_so(etcd: EtcdServer, app: str) -> None:
    store = EtcdStore(Losing(EtcdOptions((etcd.endpoint,)), "before"), app)
    with pytest.raises(ConfigStoreFailed, match="lost"):
        store.push(draft(YAML))
    assert store.history("ranker") == ()
    store.close()


def test_a_broken_head_is_neither_trusted_nor_written_over(
    store: EtcdStore, client: EtcdClient, app: str
) -> None:
    store.push(draft(YAML))
    put(client, Layout(app).head("ranker"), b"{")
    assert store.accept(store.current().documents.values())
    with pytest.raises(InvalidInput, match="mend or delete that key first"):
        store.push(draft(YAML))
    assert [each.number for each in store.history("ranker")] == [1]


# --- servers --------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> ServedStore:
    return ServedStore(tmp_path, Texts(tmp_path / "texts"))


def remember(served: ServedStore) -> None:
    record = Served("a/key", "yaml", served.texts.keep(YAML), "", "", 5, 3)
    served.write({"ranker": record})


def test_a_server_sees_changes_and_its_own_records_at_once(
    etcd: EtcdServer, client: EtcdClient, app: str, prefix: str, served: ServedStore
) -> None:
    followed = FollowedStore(etcd.client(), app, served)
    assert followed.current().documents == {}
    put(client, f"{prefix}config-map/ranker".encode(), json.dumps(INNER).encode())
    document = until(lambda: followed.current().documents.get("ranker"))
    assert followed.accept([document])
    assert [(each.number, each.hash) for each in followed.versions()] == [(1, document.hash)]
    client.change([], [Delete(f"{prefix}config-map/ranker".encode())])
    until(lambda: not followed.current().documents)
    assert followed.accept([], ["ranker"])
    assert followed.versions()[0].is_removal
    followed.close()


def test_two_servers_that_take_up_one_edit_record_it_once(
    etcd: EtcdServer, client: EtcdClient, app: str, prefix: str, served: ServedStore
) -> None:
    servers = [FollowedStore(etcd.client(), app, served) for _ in range(2)]
    put(client, f"{prefix}config-map/ranker".encode(), json.dumps(INNER).encode())
    for server in servers:
        document = until(lambda server=server: server.current().documents.get("ranker"))
        assert server.accept([document])
        assert [each.number for each in server.versions()] == [1]
    for server in servers:
        server.close()


def test_a_server_that_starts_without_etcd_has_what_it_served_last(served: ServedStore) -> None:
    remember(served)
    nobody = EtcdClient(EtcdOptions((f"127.0.0.1:{free_port()}",)))
    followed = FollowedStore(nobody, "shop", served)
    (document,) = followed.current().documents.values()
    assert (document.id, document.text, document.file) == ("ranker", YAML, "a/key")
    assert [(each.id, each.number) for each in followed.versions()] == [("ranker", 3)]
    assert followed.accept([document], ["another"])
    assert "refused" in followed.mirror.why_away
    with pytest.raises(ConfigStoreFailed, match="no server answered"):
        followed.history("ranker")
    followed.close()


def test_what_was_lost_of_the_last_time_keeps_nothing_else_back(served: ServedStore) -> None:
    remember(served)
    (record,) = served.read().values()
    served.write({"ranker": record, "other": Served("k", "yaml", "0" * 64, "", "", 5, 1)})
    nobody = EtcdClient(EtcdOptions((f"127.0.0.1:{free_port()}",)))
    followed = FollowedStore(nobody, "shop", served)
    assert list(followed.current().documents) == ["ranker"]
    followed.close()


# --- status ---------------------------------------------------------------------------------


def test_how_configs_stand_is_shown_while_a_server_lives(
    etcd: EtcdServer, client: EtcdClient, app: str
) -> None:
    layout, own = Layout(app), etcd.client()
    board = StatusBoard(own, layout, "host-1")
    board.show({"a": '{"state": "serving"}', "b": '{"state": "refused"}'})
    until(lambda: client.get(layout.status("b", "host-1")))
    entry = client.get(layout.status("a", "host-1"))
    assert entry is not None
    assert entry.value == b'{"state": "serving"}'
    board.show({"a": '{"state": "last good"}'})
    until(lambda: client.get(layout.status("b", "host-1")) is None)
    board.close()
    own.close()
    assert client.get(layout.status("a", "host-1")) is None
