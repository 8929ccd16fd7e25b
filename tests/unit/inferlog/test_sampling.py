"""Who is in today's share."""

from __future__ import annotations

from datetime import date

import pytest

from inferflow.inferlog.sampling import daily_bucket, daily_share

from ...robustness.scenario import StartScenario

DAY = date(2025, 11, 15)


@pytest.mark.parametrize(
    ("who", "day", "bucket"),
    [
        ("", DAY, 5),
        ("user123", DAY, 93),
        ("42", date(2026, 1, 1), 37),
        ("user-1", date(2025, 12, 31), 30),
    ],
)
def test_buckets_are_those_of_the_original(who: str, day: date, bucket: int) -> None:
    assert daily_bucket(who, day) == bucket


def test_a_share_takes_about_that_many_and_others_the_next_day(scenario: StartScenario) -> None:
    tried = scenario("E5", "5 % of 200 000 users")
    users = [f"u{n}" for n in range(200_000)]
    today, tomorrow = daily_share(5, DAY), daily_share(5, date(2025, 11, 16))
    assert today is not None
    assert tomorrow is not None
    chosen = {user for user in users if today(user)}
    tried.at_most("off the share", abs(100 * len(chosen) / len(users) - 5), 0.1, " %")
    assert chosen == {user for user in chosen if today(user)}
    again = sum(tomorrow(user) for user in chosen) / len(chosen)
    tried.at_most("off the share of those, the next day", abs(100 * again - 5), 0.5, " %")


def test_nobody_is_asked_when_the_share_is_nothing() -> None:
    assert daily_share(0, DAY) is None


def test_everybody_is_in_a_share_of_a_hundred() -> None:
    everyone = daily_share(100, DAY)
    assert everyone is not None
    assert all(everyone(f"u{n}") for n in range(1000))
