"""Clocks of a worker and its manager that are apart are told of once, and once they agree again."""

from __future__ import annotations

import pytest

from inferflow.client.manager.clock_watch import ClockWatch

NOW_S = 1_800_000_000.0


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO")
    return caplog


def compared(*managers_s: float) -> None:
    watch = ClockWatch(lambda: NOW_S)
    for each in managers_s:
        watch.compare(int(each * 1000))


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0, 10.5])
def test_a_difference_is_told_once_with_its_size(
    told: pytest.LogCaptureFixture, ahead_s: float
) -> None:
    compared(NOW_S - ahead_s, NOW_S - ahead_s)
    [record] = told.records
    assert (record.levelname, record.message) == ("WARNING", "clock_differs_from_manager")
    assert vars(record)["ahead_s"] == ahead_s


def test_its_end_is_told_and_a_second_one_too(told: pytest.LogCaptureFixture) -> None:
    compared(NOW_S + 60, NOW_S, NOW_S, NOW_S + 60)
    differs, agrees = "clock_differs_from_manager", "clock_agrees_with_manager"
    assert [record.message for record in told.records] == [differs, agrees, differs]


def test_small_differences_and_managers_that_say_nothing_are_no_news(
    told: pytest.LogCaptureFixture,
) -> None:
    compared(NOW_S - 9, NOW_S + 9, 0)
    assert not told.records
