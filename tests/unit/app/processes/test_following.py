"""What a parent accepts is what its children serve."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.config_stores import open_served
from inferflow.app.flow import Flow
from inferflow.app.processes.following import Follower
from inferflow.app.processes.messages import Took
from inferflow.app.processes.publishing import Publisher
from inferflow.app.processes.snapshot import read_head
from inferflow.app.settings import read_settings
from inferflow.app.watching import open_reloading
from inferflow.app.wiring import Embedded, open_bare
from inferflow.engine.observer import Observer
from inferflow.errors import ConfigStoreFailed, NotFound, PlanRejected
from inferflow.plan.schema import ServiceDoc

BOOKS = {"user": "ada", "book": ["1", "2"]}


class Gone(Observer):
    """Notes what was removed."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def plan_removed(self, config_id: str) -> None:
        self.ids.append(config_id)


class Child:
    def __init__(self, root: Path, home: Path) -> None:
        settings = read_settings(root)
        self.gone = Gone()
        self.embedded: Embedded = open_bare(root, settings, observer=self.gone)
        self.services: list[ServiceDoc] = []
        texts = open_served(root, settings).texts
        self.follower = Follower(self.embedded, home, texts, self.services.append)
        self.flow = Flow(self.embedded)

    def version(self, config_id: str = "ranker") -> str:
        return self.embedded.book.get(config_id).plan.digest


class Family:
    """A parent without a loop, and its children."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.embedded, self.reloader = open_reloading(root)
        self.publisher = Publisher(home, lambda: self.embedded.service)
        self.children: list[Child] = []

    def publish(self) -> bool:
        self.reloader.check_now()
        self.reloader.show(self.publisher.take)
        return self.publisher.flush()

    def child(self) -> Child:
        child = Child(self.root, self.home)
        self.children.append(child)
        return child

    def version(self, config_id: str = "ranker") -> str:
        return self.embedded.book.get(config_id).plan.digest

    def close(self) -> None:
        for child in self.children:
            child.flow.close()
        self.embedded.close()


Open = Callable[[Path], Family]


@pytest.fixture
def open_family(tmp_path: Path) -> Iterator[Open]:
    opened: list[Family] = []

    def open_(root: Path) -> Family:
        home = tmp_path / "home"
        home.mkdir()
        family = Family(root, home)
        opened.append(family)
        assert family.publish()
        return family

    yield open_
    for family in opened:
        family.close()


@pytest.fixture
def family(open_family: Open, starter: Path) -> Family:
    return open_family(starter)


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_how_log_messages_are_written_reaches_children(family: Family) -> None:
    child = family.child()
    child.follower.look()
    assert child.services == []
    family.embedded.service = ServiceDoc(v2_logging_type="arrow")
    assert family.publish()
    child.follower.look()
    child.follower.look()
    assert child.services == [ServiceDoc(v2_logging_type="arrow")]


def test_a_child_serves_what_the_parent_does_and_imports_nothing(family: Family) -> None:
    for data in (family.root / "features").glob("*.csv"):
        data.unlink()
    child = family.child()
    took = child.follower.look()
    assert took == Took(family.publisher.version)
    parents = Flow(family.embedded).score("ranker", **BOOKS)
    childs = child.flow.score("ranker", **BOOKS)
    assert childs.config_version == parents.config_version
    assert childs["pick:score"].tolist() == parents["pick:score"].tolist()
    assert childs["book:facts:title"].tolist() == parents["book:facts:title"].tolist()


def test_a_change_is_served_after_the_next_look_and_not_before(family: Family) -> None:
    child = family.child()
    child.follower.look()
    old = child.version()
    edit(family.root, "expressions.yaml", "pick:", "other: like * 3\npick:")
    assert family.publish()
    child.follower.look()
    assert child.version() == old == family.version()  # it does not use the other one
    (family.root / "expressions.yaml").write_text('pick: "like * 2"\n')
    assert family.publish()
    assert child.version() == old
    child.follower.look()
    assert child.version() == family.version() != old


def test_what_did_not_change_keeps_its_scorer(family: Family) -> None:
    child = family.child()
    child.follower.look()
    scorer = child.embedded.book.get("ranker")
    child.follower.look()
    (family.root / "configs/more.yaml").write_text(
        (family.root / "configs/ranker.yaml").read_text().replace("ranker:", "more:", 1)
    )
    assert family.publish()
    child.follower.look()
    assert child.embedded.book.get("ranker") is scorer
    assert set(child.embedded.book.ids) == {"ranker", "more"}


def test_nothing_new_is_not_written_again(family: Family) -> None:
    before = (family.home / "head.json").stat().st_mtime_ns
    assert not family.publish()
    assert (family.home / "head.json").stat().st_mtime_ns == before


def test_a_refused_config_is_served_as_last_good_also_by_a_child_started_later(
    family: Family,
) -> None:
    good = family.version()
    (family.root / "configs/ranker.yaml").write_text("ranker: {half: written}\n")
    family.publish()
    late = family.child()
    late.follower.look()
    assert late.version() == good


def test_a_config_that_never_was_good_is_refused_with_its_problems(family: Family) -> None:
    (family.root / "configs/bad.yaml").write_text("bad: {half: written}\n")
    assert family.publish()
    child = family.child()
    child.follower.look()
    with pytest.raises(PlanRejected) as childs:
        child.embedded.book.get("bad")
    with pytest.raises(PlanRejected) as parents:
        family.embedded.book.get("bad")
    assert str(childs.value) == str(parents.value)


def test_a_config_that_is_gone_is_gone_everywhere(family: Family) -> None:
    child = family.child()
    child.follower.look()
    (family.root / "configs/ranker.yaml").unlink()
    assert family.publish()
    took = child.follower.look()
    assert took.not_ready == "no model config is live"
    assert child.gone.ids == ["ranker"]
    with pytest.raises(NotFound):
        child.embedded.book.get("ranker")


# --- models ---------------------------------------------------------------------------------


def test_a_child_takes_the_model_version_that_was_accepted_and_not_a_newer_broken_one(
    family: Family,
) -> None:
    newer = family.root / "models/like_model/2"
    newer.mkdir()
    (newer / "model.onnx").write_bytes(b"not a model")
    family.publish()
    late = family.child()
    assert late.follower.look().refused == {}
    assert late.version() == family.version()
    scores = late.flow.score("ranker", **BOOKS)
    assert not any(scores.errors)


def test_a_newer_model_version_reaches_children_with_the_next_snapshot(family: Family) -> None:
    child = family.child()
    child.follower.look()
    old = child.version()
    model = family.root / "models/like_model/1/model.onnx"
    newer = family.root / "models/like_model/2"
    newer.mkdir()
    (newer / "model.onnx").write_bytes(model.read_bytes().replace(b"inferflow", b"somebody!"))
    assert family.publish()
    child.follower.look()
    assert child.version() == family.version() != old


def test_model_bytes_that_were_not_accepted_are_not_served(family: Family) -> None:
    child = family.child()
    child.follower.look()
    good = child.version()
    model = family.root / "models/like_model/1/model.onnx"
    other = model.read_bytes().replace(b"inferflow", b"somebody!")
    model.unlink()
    model.write_bytes(other)  # and the parent has not looked
    late = family.child()
    (reason,) = late.follower.look().refused.values()
    assert "have changed since it was accepted" in reason
    assert late.embedded.book.ids == ()
    assert child.follower.look().refused == {}
    assert child.version() == good
    assert family.publish()
    assert late.follower.look().refused == {}
    assert late.version() == family.version()


# --- what goes wrong ------------------------------------------------------------------------


def test_what_a_child_cannot_take_up_stays_as_it_was_and_the_rest_is_taken_up(
    family: Family,
) -> None:
    text = (family.root / "configs/ranker.yaml").read_text()
    (family.root / "configs/more.yaml").write_text(text.replace("ranker:", "more:", 1))
    family.publish()
    child = family.child()
    child.follower.look()
    old = child.version(), child.version("more")
    (family.root / "expressions.yaml").write_text('pick: "like * 2"\n')
    family.publish()
    lost = read_head(family.home).configs["ranker"].served.text
    texts = family.root / ".inferflow/configs/texts"
    hidden = texts / "hidden"
    (texts / lost).rename(hidden)
    took = child.follower.look()
    assert list(took.refused) == ["ranker"]
    assert took.version == family.publisher.version
    assert child.version() == old[0]
    assert child.version("more") == family.version("more") != old[1]
    hidden.rename(texts / lost)
    assert child.follower.look().refused == {}  # tried again, though the snapshot is the same
    assert child.version() == family.version()


def test_a_head_that_cannot_be_read_changes_nothing(family: Family) -> None:
    child = family.child()
    child.follower.look()
    good = child.version()
    shutil.move(family.home / "head.json", family.home / "elsewhere")
    with pytest.raises(ConfigStoreFailed):
        child.follower.look()
    assert child.version() == good


def test_a_snapshot_that_could_not_be_written_is_written_later(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    (family.root / "expressions.yaml").write_text('pick: "like * 2"\n')

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("inferflow.app.processes.snapshot.write_whole", full)
        with pytest.raises(ConfigStoreFailed):
            family.publish()
    child = family.child()
    child.follower.look()
    assert child.version() != family.version()
    assert family.publisher.flush()
    child.follower.look()
    assert child.version() == family.version()


# --- splits ---------------------------------------------------------------------------------


def test_a_split_is_served_over_the_configs_a_child_serves(open_family: Open, echo: Path) -> None:
    written = json.loads((echo / "configs/echo.json").read_text())
    (echo / "configs/twin.json").write_text(json.dumps({"twin": written}))
    (echo / "configs/home.json").write_text(json.dumps({"home": {"ab": {"echo": 50, "twin": 50}}}))
    family = open_family(echo)
    child = family.child()
    assert child.follower.look().refused == {}
    book = child.embedded.book
    assert [arm.plan.config_id for arm in book.splits["home"].arms] == ["echo", "twin"]
    assert book.splits["home"].arms[0] is book.live["echo"]
    (echo / "configs/home.json").write_text(json.dumps({"home": {"ab": {"echo": 90, "twin": 10}}}))
    assert family.publish()
    child.follower.look()
    shares = child.embedded.book.splits["home"].split
    assert shares == family.embedded.book.splits["home"].split
