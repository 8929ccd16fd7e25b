"""What is accepted, as one file."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.app.pinned import ModelPin
from inferflow.app.processes.snapshot import (
    Accepted,
    Snapshot,
    read_head,
    snapshot_home,
    write_head,
)
from inferflow.configstore import Served
from inferflow.errors import ConfigStoreFailed
from inferflow.plan.problems import Problem

from ....robustness.scenario import StartScenario

NAMES = st.text(min_size=1, max_size=8)
SERVED = st.builds(
    Served,
    file=NAMES,
    format=st.sampled_from(["json", "yaml"]),
    text=NAMES,
    schema=NAMES,
    expressions=NAMES,
    accepted_ms=st.integers(0, 2**50),
    version=st.integers(0, 1000),
)
PINS = st.builds(ModelPin, NAMES, st.none() | NAMES, NAMES, NAMES)
ACCEPTED = st.builds(Accepted, SERVED, st.lists(PINS, max_size=2).map(tuple))
PROBLEMS = st.lists(st.builds(Problem, NAMES, NAMES, NAMES), max_size=2).map(tuple)
SNAPSHOTS = st.builds(
    Snapshot,
    st.dictionaries(NAMES, ACCEPTED, max_size=3),
    st.dictionaries(NAMES, PROBLEMS, max_size=2),
)


class Killed(BaseException):
    """The process is gone: nothing after this runs."""


@settings(deadline=None)
@given(SNAPSHOTS)
def test_a_snapshot_comes_back_as_it_was_written(snapshot: Snapshot) -> None:
    again = Snapshot.parse(snapshot.text)
    assert again == snapshot
    assert again.version == snapshot.version


@settings(deadline=None)
@given(SNAPSHOTS, SNAPSHOTS)
def test_snapshots_have_one_version_exactly_when_they_say_the_same(
    one: Snapshot, other: Snapshot
) -> None:
    assert (one.version == other.version) is (one == other)


def test_the_order_of_configs_is_no_part_of_the_version() -> None:
    served = Served("f", "json", "t", "s", "e", 1, 1)
    forth = Snapshot({"a": Accepted(served), "b": Accepted(served)})
    back = Snapshot({"b": Accepted(served), "a": Accepted(served)})
    assert forth.version == back.version


@settings(deadline=None)
@given(writes=st.lists(st.tuples(SNAPSHOTS, st.sampled_from(["", "fsync", "replace"])), max_size=4))
def test_whenever_the_writer_is_killed_the_head_is_the_old_one_or_the_new(
    scenario: StartScenario, writes: list[tuple[Snapshot, str]]
) -> None:
    tried = scenario("A16", "the writer of a head killed at random")
    with TemporaryDirectory() as folder:
        home = Path(folder)
        head = Snapshot()
        write_head(home, head)
        for snapshot, killed_at in writes:
            try:
                with patch.object(Path, "unlink"):  # one who is killed tidies nothing up
                    _write(home, snapshot, killed_at)
                head = snapshot
            except Killed:
                pass
            tried.holds("the old one or the new", "whole", read_head(home) == head)


def _write(home: Path, snapshot: Snapshot, killed_at: str) -> None:
    if not killed_at:
        write_head(home, snapshot)
        return
    with patch.object(os, killed_at, side_effect=Killed):
        write_head(home, snapshot)


@pytest.mark.scenario("I4")
def test_a_disk_that_is_full_leaves_the_old_head_and_says_so(tmp_path: Path) -> None:
    old = Snapshot({}, {"a": (Problem("x", "y"),)})
    write_head(tmp_path, old)
    with (
        patch.object(os, "fsync", side_effect=OSError(28, "No space left on device")),
        pytest.raises(ConfigStoreFailed, match="No space left"),
    ):
        write_head(tmp_path, Snapshot())
    assert read_head(tmp_path) == old
    assert [each.name for each in tmp_path.iterdir()] == ["head.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"configs": {"a": {}}, "refused": {}}'])
def test_a_damaged_head_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "head.json").write_text(text)
    with pytest.raises(ConfigStoreFailed, match=r"head\.json"):
        read_head(tmp_path)


def test_a_folder_lasts_as_long_as_its_server(tmp_path: Path) -> None:
    with snapshot_home(tmp_path / "all") as one, snapshot_home(tmp_path / "all") as other:
        assert one != other
        assert one.is_dir()
    assert list((tmp_path / "all").iterdir()) == []


def test_what_a_killed_server_left_is_tidied_up_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / "run-killed"
    left.mkdir()
    (left / "lock").touch()
    write_head(left, Snapshot())
    with snapshot_home(tmp_path) as home:
        assert list(tmp_path.iterdir()) == [home]
