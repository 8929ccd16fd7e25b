"""How log lines look and where they go."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator

import pytest

from inferflow.errors import InvalidInput, MissingExtra
from inferflow.telemetry.calls import Call, request_context
from inferflow.telemetry.levels import TRACE, level_number
from inferflow.telemetry.logs import HIDDEN, Logs, setup_logs

log = logging.getLogger("inferflow.test")
SECRET = "4711-secret"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def logs(stream) -> Iterator[Logs]:
    opened = setup_logs("trace", stream=stream)
    yield opened
    opened.close()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_when_nobody_watches(logs, stream):
    log.warning("plan_rejected", extra={"config_id": "a", "problems": 2})
    [line] = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "plan_rejected",
        "level": "warning",
        "logger": "inferflow.test",
        "config_id": "a",
        "problems": 2,
    }


def test_a_line_is_text_on_a_terminal():
    screen = Terminal()
    opened = setup_logs("info", stream=screen)
    log.info("plan_live", extra={"config_id": "a"})
    opened.close()
    assert "plan_live" in screen.getvalue()
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(screen.getvalue())


@pytest.mark.parametrize("json_lines", [True, False])
def test_the_form_can_be_chosen(stream, json_lines):
    opened = setup_logs(stream=stream, json=json_lines)
    log.error("e")
    opened.close()
    assert stream.getvalue().startswith("{") is json_lines


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("trace", ["t", "d", "i", "w", "e"]),
        ("DEBUG", ["d", "i", "w", "e"]),
        ("Info", ["i", "w", "e"]),
        ("warn", ["w", "e"]),
        ("error", ["e"]),
        ("disabled", []),
    ],
)
def test_levels_reach_from_trace_to_nothing(stream, level, heard):
    opened = setup_logs(level, stream=stream)
    log.log(TRACE, "t")
    log.debug("d")
    log.info("i")
    log.warning("w")
    log.error("e")
    opened.close()
    assert [line["event"] for line in lines(stream)] == heard


def test_trace_lines_are_called_trace(logs, stream):
    log.log(TRACE, "t")
    assert lines(stream)[0]["level"] == "trace"


def test_an_unknown_level_is_refused_with_those_that_exist():
    with pytest.raises(InvalidInput, match="trace, debug, info"):
        level_number("loud")


def test_lines_inside_a_request_carry_its_id_also_across_tasks(logs, stream):
    async def one(name: str) -> None:
        with request_context(Call(name)):
            await asyncio.sleep(0)
            log.info("inside")

    async def both() -> None:
        await asyncio.gather(one("r1"), one("r2"))

    asyncio.run(both())
    log.info("outside")
    assert [line.get("request_id") for line in lines(stream)] == ["r1", "r2", None]


def test_a_line_says_which_config_its_call_asked_for_but_not_who_asked(logs, stream):
    call = Call("r1", "/Predict/InferPointWise")
    call.config_id, call.tracking_id = "ranker", SECRET
    with request_context(call):
        log.info("inside")
        log.info("of another", extra={"config_id": "arm"})
    assert [line["config_id"] for line in lines(stream)] == ["ranker", "arm"]
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize("name", sorted(HIDDEN))
def test_values_keys_and_ids_stay_out_of_the_log(logs, stream, name):
    log.info("e", extra={name: [SECRET]})
    assert SECRET not in stream.getvalue()


def test_an_exception_is_told_by_class_and_place_without_its_words(logs, stream):
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("failed")
    [line] = lines(stream)
    assert line["exception"] == "ValueError"
    assert "test_logs.py" in str(line["at"])
    assert SECRET not in stream.getvalue()


def test_values_are_told_when_asked_for(stream):
    opened = setup_logs(stream=stream, values=True)
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("failed", extra={"keys": ["k1"]})
    opened.close()
    [line] = lines(stream)
    assert SECRET in str(line["exception"])
    assert line["keys"] == ["k1"]


def test_setting_up_twice_writes_once_and_to_the_new_place(logs, stream):
    second = io.StringIO()
    opened = setup_logs("info", stream=second)
    log.info("e")
    opened.close()
    assert stream.getvalue() == ""
    assert len(lines(second)) == 1


def test_closing_puts_logging_back_as_it_was(stream):
    root, own = logging.getLogger(), logging.getLogger("inferflow")
    before = (root.level, own.level, list(root.handlers))
    opened = setup_logs("trace", stream=stream)
    opened.close()
    opened.close()
    assert (root.level, own.level, list(root.handlers)) == before


def test_other_peoples_warnings_are_heard_and_their_chatter_is_not(logs, stream):
    logging.getLogger("vendor").info("chatter")
    logging.getLogger("vendor").warning("disk is %d %% full", 99)
    assert [line["event"] for line in lines(stream)] == ["disk is 99 % full"]


def test_pythons_own_warnings_become_lines(logs, stream):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old habit", DeprecationWarning, stacklevel=1)
    logging.captureWarnings(False)
    assert "old habit" in stream.getvalue()
    assert lines(stream)[0]["logger"] == "py.warnings"


def test_a_file_is_put_aside_when_it_is_full(tmp_path):
    path = tmp_path / "logs" / "inferflow.log"
    opened = setup_logs(file=path, file_mb=0.001, files_kept=2)
    for number in range(100):
        log.info("filling", extra={"number": number})
    opened.close()
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "inferflow.log",
        "inferflow.log.1",
        "inferflow.log.2",
    ]
    assert all(each.stat().st_size <= 1_100 for each in path.parent.iterdir())
    assert json.loads(path.read_text().splitlines()[-1])["number"] == 99


def test_a_file_that_cannot_be_written_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match=r"log file .*inner\.log"):
        setup_logs(file=tmp_path / "file" / "inner.log")


def test_a_missing_library_says_how_to_get_it(monkeypatch, stream):
    monkeypatch.setitem(sys.modules, "structlog", None)
    with pytest.raises(MissingExtra, match=r"inferflow\[serve\]"):
        setup_logs(stream=stream)
