"""Expressions that come, change, go bad and go, as a compute service sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inferflow.app.expression_files import ExpressionFiles, Written, expression_files
from inferflow.app.kept_expressions import KeptExpressions
from inferflow.app.live_expressions import Change, LiveExpressions
from inferflow.errors import ConfigStoreFailed, InvalidInput, NotFound


class Shelf:
    """A source that a test fills."""

    name = "shelf"

    def __init__(self, **sources: Any) -> None:
        self.written = Written(sources)

    def read(self) -> Written:
        return Written(dict(self.written.sources), dict(self.written.unreadable))

    def close(self) -> None: ...


def looked(shelf: Shelf) -> tuple[LiveExpressions, list[Change]]:
    told: list[Change] = []
    live = LiveExpressions(shelf, tell=told.append)
    live.look()
    return live, told


def test_what_is_good_is_found_and_what_is_bad_is_named() -> None:
    live, told = looked(Shelf(sum="a + b", bad="a +"))
    assert live.find("sum").variables == ("a", "b")
    with pytest.raises(InvalidInput, match="expression 'bad' cannot be used: "):
        live.find("bad")
    with pytest.raises(NotFound, match="did you mean 'sum'"):
        live.find("sun")
    assert told[0].changed == ("sum",)
    assert set(told[0].refused) == {"bad"}


def test_one_that_went_bad_stays_as_it_was() -> None:
    shelf = Shelf(sum="a + b", other="a")
    live, told = looked(shelf)
    before = live.find("sum")
    shelf.written.sources |= {"sum": "a +", "other": "a * 2"}
    live.look()
    assert live.find("sum") is before
    assert live.find("other").source == "a * 2"
    assert told[-1].changed == ("other",)
    assert set(live.problems) == {"sum"}
    shelf.written.sources["sum"] = "a - b"
    live.look()
    assert live.find("sum").source == "a - b"
    assert not live.problems


def test_one_that_cannot_be_read_stays_as_it_was() -> None:
    shelf = Shelf(sum="a + b")
    live, _ = looked(shelf)
    shelf.written = Written({}, {"sum": "cut off"})
    live.look()
    assert live.find("sum").source == "a + b"
    assert live.problems == {"sum": "cut off"}


def test_one_that_is_gone_is_gone() -> None:
    shelf = Shelf(sum="a + b", other="a")
    live, told = looked(shelf)
    del shelf.written.sources["sum"]
    live.look()
    assert live.ids == ("other",)
    assert told[-1].removed == ("sum",)


def test_a_look_that_finds_nothing_new_is_quiet() -> None:
    live, told = looked(Shelf(sum="a + b"))
    live.look()
    assert len(told) == 1


def test_a_source_that_cannot_be_read_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    class Away(Shelf):
        why = "away"

        def read(self) -> Written:
            if self.why:
                raise InvalidInput(self.why)
            return super().read()

    shelf = Away(sum="a + b")
    live = LiveExpressions(shelf)
    for why in ("away", "away", "still away", "", "away"):
        shelf.why = why
        live.keep_looking()
    told = [record.getMessage().rpartition(": ")[2] for record in caplog.records]
    assert [each for each in told if "away" in each] == ["away", "still away", "away"]
    assert live.ids == ("sum",)


# --- files ----------------------------------------------------------------------------------


def test_a_file_has_all_expressions(tmp_path: Path) -> None:
    (tmp_path / "expressions.yaml").write_text('sum: "a + b"\n1: {postfix: "a b *"}\n')
    live = LiveExpressions(expression_files(tmp_path, ""))
    live.look()
    assert live.ids == ("sum", "1")


def test_a_folder_has_one_file_each_and_perhaps_one_for_many(tmp_path: Path) -> None:
    (tmp_path / "expressions.yaml").write_text('sum: "a + b"\n')
    (tmp_path / "1.json").write_text('{"expression": "a b *"}')
    (tmp_path / "two.yml").write_text('"a - b"')
    (tmp_path / "notes.txt").write_text("a + b")
    live = LiveExpressions(ExpressionFiles(tmp_path))
    live.look()
    assert set(live.ids) == {"sum", "1", "two"}


def test_a_broken_file_of_a_folder_costs_its_own_expression_alone(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"expression": "a b *"}')
    (tmp_path / "2.json").write_text("{")
    found = ExpressionFiles(tmp_path).read()
    assert set(found.sources) == {"1"}
    assert "2.json: not valid JSON" in found.unreadable["2"]


def test_two_with_one_id_are_both_refused(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text('{"expression": "a b *"}')
    (tmp_path / "1.yaml").write_text('"a + b"')
    found = ExpressionFiles(tmp_path).read()
    assert not found.sources
    assert "another one with this compute id" in found.unreadable["1"]


def test_a_broken_file_of_all_leaves_everything_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "expressions.yaml"
    file.write_text('sum: "a + b"\n')
    live = LiveExpressions(ExpressionFiles(file))
    live.look()
    for broken in ("sum: [", "- sum"):
        file.write_text(broken)
        with pytest.raises(InvalidInput, match=r"expressions\.yaml"):
            live.look()
    file.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        live.look()
    assert live.ids == ("sum",)


def test_there_must_be_expressions_to_start_with(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--expressions"):
        expression_files(tmp_path, "")


# --- across restarts ------------------------------------------------------------------------


class Away(Shelf):
    def read(self) -> Written:
        raise ConfigStoreFailed("etcd is away")


def test_what_was_good_last_is_there_after_a_restart_without_its_source(tmp_path: Path) -> None:
    kept = KeptExpressions(tmp_path / "deep" / "kept.json")
    shelf = Shelf(sum="a + b", ratio={"postfix": "a b /"}, bad="a +")
    LiveExpressions(shelf, kept=kept).look()
    again = LiveExpressions(Away(), kept=kept)
    with pytest.raises(ConfigStoreFailed):
        again.look()
    assert set(again.ids) == {"sum", "ratio"}
    assert again.find("ratio").variables == ("a", "b")


def test_one_that_went_bad_before_a_restart_stays_as_it_was_and_one_that_is_gone_is_gone(
    tmp_path: Path,
) -> None:
    kept = KeptExpressions(tmp_path / "kept.json")
    LiveExpressions(Shelf(sum="a + b", old="a"), kept=kept).look()
    LiveExpressions(Shelf(sum="a +"), kept=kept).look()
    again = LiveExpressions(Shelf(sum="a +"), kept=kept)
    again.look()
    assert again.find("sum").source == "a + b"
    assert again.ids == ("sum",)
    assert set(again.problems) == {"sum"}


@pytest.mark.parametrize("text", ["", "[1, 2]", "3", "\x00"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text)
    live = LiveExpressions(Shelf(sum="a + b"), kept=KeptExpressions(path))
    assert live.ids == ()
    live.look()
    assert KeptExpressions(path).load() == {"sum": "a + b"}


def test_where_nothing_can_be_written_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    live = LiveExpressions(Shelf(sum="a"), kept=KeptExpressions(tmp_path / "file" / "kept.json"))
    live.look()
    assert live.ids == ("sum",)
