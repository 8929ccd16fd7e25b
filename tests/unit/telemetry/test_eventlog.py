"""Which failures are told, how many of them, and how much about them."""

from __future__ import annotations

import itertools
import logging

import pytest

from inferflow.telemetry.eventlog import EventLog
from inferflow.testing import ManualClock, failing, model

SECRET = "4711-secret"


@pytest.fixture
def events(caplog):
    caplog.set_level(logging.DEBUG, logger="inferflow.events")
    return caplog


def told(events, message):
    return [record for record in events.records if record.getMessage() == message]


def broken_shop(make_shop, **options):
    quotes = model(failing(f"index {SECRET}"), inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})
    return make_shop(EventLog(**options), world={"models": {"ranker": quotes}})


def test_a_failed_step_is_told_with_its_facts(make_shop, events):
    broken_shop(make_shop, chance=lambda: 0.0).score()
    [line] = told(events, "step_failed")
    assert (line.config_id, line.step, line.kind) == ("shop", "ranker", "model")
    assert (line.error, line.error_type, line.endpoint) == ("ModelFailed", "model", "local")
    assert line.levelno == logging.ERROR


def test_nothing_is_told_of_a_request_that_went_well(make_shop, events):
    make_shop(EventLog(chance=lambda: 0.0)).score()
    assert events.records == []


def test_the_share_told_is_the_configs_error_logging_percent(make_shop, events):
    dice = itertools.cycle([0.0, 0.49, 0.5, 0.99])
    shop = broken_shop(make_shop, chance=lambda: next(dice), per_s=1e6)
    for _ in range(8):
        shop.score()
    assert len(told(events, "step_failed")) == 4


def test_a_flood_is_capped_and_what_was_kept_back_is_said(make_shop, events):
    clock = ManualClock()
    shop = broken_shop(make_shop, chance=lambda: 0.0, per_s=2, clock=clock)
    for _ in range(10):
        shop.score()
    assert len(told(events, "step_failed")) == 2
    clock.advance(0.5)
    shop.score()
    assert [getattr(line, "kept_back", 0) for line in told(events, "step_failed")] == [0, 0, 8]


def test_a_text_that_may_quote_a_value_is_told_only_when_asked(make_shop, events):
    broken_shop(make_shop, chance=lambda: 0.0).score()
    broken_shop(make_shop, chance=lambda: 0.0, values=True).score()
    closed, opened = told(events, "step_failed")
    assert SECRET not in str(vars(closed))
    assert SECRET in opened.reason


def test_a_text_of_our_own_is_told(make_shop, events):
    shop = make_shop(EventLog(chance=lambda: 0.0))
    shop.world.features.broken = "the disk is full"
    shop.score()
    assert {line.reason for line in told(events, "step_failed")} == {"the disk is full"}


def test_a_request_that_fails_by_its_callers_fault_is_only_worth_a_debug_line(make_shop, events):
    make_shop(EventLog(chance=lambda: 0.0)).fail({"entities": {"user": SECRET, "product": []}})
    [line] = told(events, "request_failed")
    assert (line.levelno, line.outcome, line.error) == (logging.DEBUG, "caller", "InvalidRequest")
    assert SECRET not in str(vars(line))


def test_a_request_that_fails_by_ours_is_an_error(make_shop, events):
    quotes = model(failing(), inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})
    shop = make_shop(
        EventLog(chance=lambda: 0.0), on_error="fail", world={"models": {"ranker": quotes}}
    )
    shop.fail()
    [line] = told(events, "request_failed")
    assert (line.levelno, line.outcome, line.error) == (logging.ERROR, "ours", "StepFailed")


def test_plans_that_come_and_go_are_told(events):
    log = EventLog()
    log.plan_live("a", "v1")
    log.plan_rejected("a", 2)
    log.plan_removed("a")
    log.logs_failed("a", "encoding_error", 3)
    assert [(line.getMessage(), line.levelname) for line in events.records] == [
        ("plan_live", "INFO"),
        ("plan_rejected", "WARNING"),
        ("plan_removed", "INFO"),
        ("inference_log_failed", "ERROR"),
    ]
