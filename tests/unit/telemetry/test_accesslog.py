"""Which calls become a line, and what the line tells."""

from __future__ import annotations

import itertools
import logging

import pytest

from inferflow.telemetry.accesslog import AccessLog
from inferflow.telemetry.calls import Call, request_context
from inferflow.testing import ManualClock

METHOD = "/Predict/InferPointWise"


@pytest.fixture
def access(caplog):
    caplog.set_level(logging.DEBUG, logger="inferflow.access")
    return caplog


def ended(log, error="", plan=None, status=0):
    call = Call("r1", METHOD)
    call.error, call.plan = error, plan
    with request_context(call):
        log.call_ended(METHOD, status, 0.0025)


def test_an_answered_call_is_told_at_debug_level(access):
    ended(AccessLog())
    [line] = access.records
    assert (line.levelno, line.getMessage()) == (logging.DEBUG, "call")
    assert (line.method, line.status, line.duration_ms) == (METHOD, 0, 2.5)
    assert not hasattr(line, "error")


def test_nothing_is_made_of_an_answered_call_when_nobody_listens(caplog):
    caplog.set_level(logging.INFO, logger="inferflow.access")
    ended(AccessLog())
    assert caplog.records == []


def test_a_failed_call_is_a_warning_with_the_class_of_its_error(access):
    ended(AccessLog(), "NotFound", status=5)
    [line] = access.records
    assert (line.levelno, line.error, line.status) == (logging.WARNING, "NotFound", 5)


def test_a_call_given_up_by_its_caller_is_no_news(access):
    ended(AccessLog(), "CancelledError", status=1)
    assert access.records[0].levelno == logging.DEBUG


def test_the_share_of_failed_calls_told_is_the_configs(access, make_shop):
    plan = make_shop(AccessLog()).scorer.plan
    dice = itertools.cycle([0.0, 0.49, 0.5, 0.99])
    log = AccessLog(chance=lambda: next(dice), per_s=1e6)
    for _ in range(8):
        ended(log, "StepFailed", plan)
    assert len(access.records) == 8 * plan.error_logging_percent / 100


def test_a_flood_of_failures_is_capped_and_what_was_kept_back_is_said(access):
    clock = ManualClock()
    log = AccessLog(per_s=2, clock=clock)
    for _ in range(5):
        ended(log, "NotFound")
    assert len(access.records) == 2
    clock.advance(0.5)
    ended(log, "NotFound")
    assert access.records[-1].kept_back == 3
