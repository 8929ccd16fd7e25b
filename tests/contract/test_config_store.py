"""What every config store promises. A new backend joins by a `Place` of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferflow.configstore import ConfigStore, DirectoryStore, Draft, content_hash, find_version
from inferflow.errors import InvalidInput, NotFound, VersionConflict
from inferflow.rpc.etcd import Delete, prefix_end
from inferflow.testing import ManualClock

from ..robustness.scenario import StartScenario
from ..servers.etcd import EtcdServer, etcd, put  # noqa: F401


class Place(Protocol):
    """Somewhere configs live, with the hands people reach into it with."""

    clock: ManualClock

    def open(self) -> ConfigStore:
        """Another store on the same configs."""
        ...

    def edit(self, config_id: str, text: str) -> None: ...

    def remove(self, config_id: str) -> None: ...

    def is_untouched(self) -> bool:
        """Whether nothing was ever written."""
        ...


@dataclass
class Directory:
    folder: Path
    clock: ManualClock = field(default_factory=ManualClock)

    def open(self) -> ConfigStore:
        return DirectoryStore(self.folder / "configs", self.folder / "history", now=self.clock)

    def edit(self, config_id: str, text: str) -> None:
        (self.folder / "configs").mkdir(exist_ok=True)
        (self.folder / "configs" / f"{config_id}.yaml").write_text(text)

    def remove(self, config_id: str) -> None:
        (self.folder / "configs" / f"{config_id}.yaml").unlink()

    def is_untouched(self) -> bool:
        return list(self.folder.iterdir()) == []

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class InEtcd:
    server: EtcdServer
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.app = self.server.new_app()
        self.client = self.server.client()
        self._opened: list[ConfigStore] = []

    def open(self) -> ConfigStore:
        from inferflow.configstore.etcd import EtcdStore

        store = EtcdStore(self.server.client(), self.app, now=self.clock)
        self._opened.append(store)
        return store

    def key(self, config_id: str) -> bytes:
        return f"/config/inferflow/services/{self.app}/model-config/config-map/{config_id}".encode()

    def edit(self, config_id: str, text: str) -> None:
        put(self.client, self.key(config_id), text.encode())

    def remove(self, config_id: str) -> None:
        assert self.client.change([], [Delete(self.key(config_id))])

    def is_untouched(self) -> bool:
        prefix = f"/config/inferflow/services/{self.app}/".encode()
        return not self.client.listing(prefix, prefix_end(prefix)).entries

    def close(self) -> None:
        for store in self._opened:
            store.close()
        self.client.close()


STORES = ["directory", "etcd"]


def new_place(kind: str, request: pytest.FixtureRequest, folder: Path) -> Directory | InEtcd:
    if kind == "directory":
        return Directory(folder)
    return InEtcd(request.getfixturevalue("etcd"))


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    made = new_place(request.param, request, tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> ConfigStore:
    return place.open()


def config(number: int) -> str:
    return f"# number {number}\nresponse_config:   {{ features: [a{number}] }}\n"


def draft(text: str, config_id: str = "ranker", author: str = "ann") -> Draft:
    return Draft(config_id, text, "yaml", author)


# --- pushing and reading --------------------------------------------------------------------


def test_a_pushed_text_comes_back_as_it_went_in(store: ConfigStore) -> None:
    text = "# mine\r\nranker:\n    response_config: {features:   [a]}   \n\n\n"
    version = store.push(draft(text))
    assert store.get("ranker").text == text
    assert store.text(version) == text
    assert version.hash == content_hash(text)


def test_versions_are_numbered_from_one_and_say_who_and_when(
    place: Place, store: ConfigStore
) -> None:
    store.push(draft(config(1), author="ann"))
    store.push(Draft("ranker", config(2), "yaml", "ben", "rollback", "forced", "in a hurry"))
    first, second = store.history("ranker")
    assert (first.number, first.author, first.origin, first.checks) == (1, "ann", "push", "none")
    assert (second.number, second.author, second.origin) == (2, "ben", "rollback")
    assert (second.checks, second.note) == ("forced", "in a hurry")
    assert first.at_ms == int(place.clock() * 1000)


def test_what_one_store_writes_another_reads(place: Place, store: ConfigStore) -> None:
    other = place.open()
    assert other.history("ranker") == ()
    store.push(draft(config(1)))
    assert other.get("ranker").text == config(1)
    other.push(draft(config(2)))
    assert [each.number for each in store.history("ranker")] == [1, 2]


def test_an_id_is_compared_letter_by_letter(store: ConfigStore) -> None:
    store.push(draft(config(1), "ranker"))
    for other in ("Ranker", "ranker ", "ranke", "rankers", "ranker.yaml"):
        with pytest.raises(NotFound):
            store.get(other)
        assert store.history(other) == ()


@pytest.mark.parametrize("config_id", ["räume", "a b", "a[1]", "{x}", "a.b", "日本", "%2e"])
def test_an_id_may_have_any_letters_a_file_name_has(store: ConfigStore, config_id: str) -> None:
    store.push(draft(config(1), config_id))
    assert store.get(config_id).id == config_id
    assert store.history(config_id)[0].id == config_id


@pytest.mark.parametrize(
    "config_id", ["", ".", "..", ".a", "a/b", "../a", "a\\b", "a\nb", "x" * 201]
)
def test_an_id_that_cannot_be_a_name_is_refused(store: ConfigStore, config_id: str) -> None:
    with pytest.raises(InvalidInput):
        store.push(draft(config(1), config_id))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "{",
        "other: {response_config: {}}",
        "ranker: {response_config: {}}\nother: {response_config: {}}",
    ],
)
def test_a_text_that_is_not_this_one_config_is_refused(store: ConfigStore, text: str) -> None:
    with pytest.raises(InvalidInput):
        store.push(draft(text))
    assert store.history("ranker") == ()


def test_the_newest_version_of_every_config_is_listed_by_id(store: ConfigStore) -> None:
    for config_id in ("b", "a", "b"):
        store.push(draft(config(1), config_id))
    assert [(each.id, each.number) for each in store.versions()] == [("a", 1), ("b", 2)]


def test_a_version_is_found_by_number_by_hash_and_by_its_beginning(store: ConfigStore) -> None:
    first = store.push(draft(config(1)))
    second = store.push(draft(config(2)))
    history = store.history("ranker")
    for wanted in (1, "1", first.hash, first.hash[:8], first.hash.upper()):
        assert find_version("ranker", history, wanted) == first
    assert find_version("ranker", history, 2) == second
    for unknown in (3, "0", first.hash[:7], "x", ""):
        with pytest.raises(NotFound):
            find_version("ranker", history, unknown)


# --- expecting a version --------------------------------------------------------------------


def test_a_push_for_the_newest_version_is_accepted(store: ConfigStore) -> None:
    store.push(draft(config(1)), expected=0)
    second = store.push(draft(config(2)), expected=1)
    third = store.push(draft(config(3)), expected=second.hash)
    assert store.push(draft(config(4)), expected=third.hash[:10]).number == 4


@pytest.mark.parametrize("expected", [0, 1, 3, "1", content_hash(config(1)), "0123456789ab"])
def test_a_push_for_any_other_version_changes_nothing(
    store: ConfigStore, expected: int | str
) -> None:
    store.push(draft(config(1)))
    store.push(draft(config(2)))
    with pytest.raises(VersionConflict) as refused:
        store.push(draft(config(3)), expected=expected)
    assert "version 2" in str(refused.value)
    assert len(store.history("ranker")) == 2
    assert store.get("ranker").text == config(2)


def test_a_push_for_a_version_of_a_config_that_is_not_there_is_refused(store: ConfigStore) -> None:
    with pytest.raises(VersionConflict):
        store.push(draft(config(1)), expected=1)


# --- people's edits -------------------------------------------------------------------------


def test_an_accepted_edit_becomes_a_version_that_says_how_it_was_checked(
    place: Place, store: ConfigStore
) -> None:
    place.edit("ranker", config(1))
    assert store.accept(store.current().documents.values())
    (version,) = store.history("ranker")
    assert (version.origin, version.checks) == ("edit", "compiled")
    assert store.text(version) == config(1)


def test_what_is_a_version_already_is_not_recorded_again(place: Place, store: ConfigStore) -> None:
    store.push(draft(config(1)))
    documents = store.current().documents.values()
    assert store.accept(documents)
    assert place.open().accept(documents)
    assert len(store.history("ranker")) == 1


def test_an_edit_that_was_overtaken_is_not_recorded(place: Place, store: ConfigStore) -> None:
    place.edit("ranker", config(1))
    seen = store.current().documents.values()
    place.open().push(draft(config(2)))
    place.edit("other", config(3))
    assert not store.accept([*seen, *store.current().documents.values()])
    assert store.history("other") == ()
    assert store.accept(store.current().documents.values())


def test_a_push_over_an_edit_keeps_the_edit_in_the_history(
    place: Place, store: ConfigStore
) -> None:
    store.push(draft(config(1)))
    place.edit("ranker", config(2))
    store.push(draft(config(3)))
    assert [store.text(each) for each in store.history("ranker")] == [
        config(number) for number in (1, 2, 3)
    ]
    assert [each.checks for each in store.history("ranker")][1] == "none"


def test_a_push_over_a_broken_edit_keeps_that_too(place: Place, store: ConfigStore) -> None:
    store.push(draft(config(1)))
    place.edit("ranker", "{ half a conf")
    store.push(draft(config(2)))
    assert store.text(store.history("ranker")[1]) == "{ half a conf"
    assert store.get("ranker").text == config(2)


def test_a_push_for_a_version_that_was_edited_since_is_refused(
    place: Place, store: ConfigStore
) -> None:
    store.push(draft(config(1)))
    place.edit("ranker", config(2))
    with pytest.raises(VersionConflict, match="an edit of"):
        store.push(draft(config(3)), expected=1)
    assert store.get("ranker").text == config(2)
    store.push(draft(config(3)), expected=content_hash(config(2)))


def test_a_file_is_pushed_from_where_it_lies(place: Place, store: ConfigStore) -> None:
    store.push(draft(config(1)))
    place.edit("ranker", config(2))
    store.push(draft(config(2)), expected=1)
    assert [each.origin for each in store.history("ranker")] == ["push", "push"]


def test_a_removal_is_a_version_and_the_id_can_be_used_again(
    place: Place, store: ConfigStore
) -> None:
    store.push(draft(config(1)))
    place.remove("ranker")
    assert store.accept([], ["ranker"])
    assert store.accept([], ["ranker"])
    removal = store.history("ranker")[-1]
    assert (removal.number, removal.origin, removal.hash) == (2, "removed", "")
    with pytest.raises(NotFound):
        store.get("ranker")
    with pytest.raises(NotFound):
        store.text(removal)
    store.push(draft(config(3)), expected=0)
    assert store.history("ranker")[-1].number == 3


def test_what_is_there_is_never_recorded_as_gone(place: Place, store: ConfigStore) -> None:
    store.push(draft(config(1)))
    assert not store.accept([], ["ranker"])
    place.edit("ranker", "{ half a conf")
    assert not store.accept([], ["ranker"])
    assert len(store.history("ranker")) == 1


def test_reading_leaves_no_trace(place: Place, store: ConfigStore) -> None:
    store.current()
    store.history("ranker")
    store.versions()
    with pytest.raises(NotFound):
        store.get("ranker")
    assert place.is_untouched()


# --- many at once ---------------------------------------------------------------------------


def test_threads_that_count_up_lose_no_count(place: Place, scenario: StartScenario) -> None:
    """Each reads the number, adds one and pushes it for the version it has read."""
    tried = scenario("K4", "four threads change one config 8 times each, on every store")
    place.open().push(draft(config(0)))
    pushed: list[int] = []

    def count(times: int) -> None:
        store = place.open()
        while times:
            seen = store.get("ranker")
            number = int(seen.content["response_config"]["features"][0][1:])
            try:
                store.push(draft(config(number + 1)), expected=seen.hash)
            except VersionConflict:
                continue
            pushed.append(number + 1)
            times -= 1

    threads = [threading.Thread(target=count, args=(8,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tried.none("change is lost", set(range(1, 33)) - set(pushed), of=32)
    assert sorted(pushed) == list(range(1, 33))
    store = place.open()
    assert [store.text(each) for each in store.history("ranker")] == [config(n) for n in range(33)]


STEP = st.one_of(
    st.tuples(st.just("push"), st.integers(0, 3)),
    st.tuples(st.just("expect"), st.integers(0, 3), st.integers(0, 6)),
    st.tuples(st.just("edit"), st.integers(0, 3)),
    st.tuples(st.just("remove")),
    st.tuples(st.just("accept")),
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, max_size=12))
@pytest.mark.parametrize("kind", STORES)
def test_any_sequence_of_changes_leads_to_the_history_one_would_write_by_hand(
    kind: str,
    steps: list[tuple[object, ...]],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> None:
    place = new_place(kind, request, tmp_path_factory.mktemp("store"))
    try:
        follow_by_hand(place, steps)
    finally:
        place.close()


def follow_by_hand(place: Place, steps: list[tuple[object, ...]]) -> None:
    store = place.open()
    written: str | None = None
    history: list[str | None] = []  # None is a removal

    def newest() -> str | None:
        return history[-1] if history else None

    for step in steps:
        if step[0] == "edit":
            written = config(int(str(step[1])))
            place.edit("ranker", written)
        elif step[0] == "remove" and written is not None:
            place.remove("ranker")
            written = None
        elif step[0] == "accept":
            folder = store.current()
            assert store.accept(folder.documents.values(), () if written else ["ranker"])
            if written != newest():
                history.append(written)
        elif step[0] in ("push", "expect"):
            text = config(int(str(step[1])))
            expected = None if step[0] == "push" else int(str(step[2]))
            is_settled = written in (newest(), text)
            is_newest = expected == len(history) or (expected == 0 and newest() is None)
            if expected is not None and not (is_settled and is_newest):
                with pytest.raises(VersionConflict):
                    store.push(draft(text), expected=expected)
            else:
                store.push(draft(text), expected=expected)
                if not is_settled:
                    history.append(written)
                history.append(text)
                written = text
    found = place.open().history("ranker")
    assert [each.number for each in found] == list(range(1, len(history) + 1))
    assert [None if each.is_removal else store.text(each) for each in found] == history
    if written is not None:
        assert store.get("ranker").text == written
