"""What travels beside a refusal."""

from __future__ import annotations

from inferflow.api.beside import hints
from inferflow.errors import NotFound, Overloaded, RateLimited

WHEN = {"retry-after-ms": "70", "grpc-retry-pushback-ms": "70"}


def test_who_came_at_a_bad_time_is_told_when_to_come_back() -> None:
    assert dict(hints(Overloaded(3, retry_after_ms=70))) == WHEN
    assert not hints(NotFound("model config", "ranker"))


def test_one_who_asks_too_often_can_tell_it_from_a_server_without_a_place() -> None:
    assert dict(hints(RateLimited("k", retry_after_ms=70))) == {
        **WHEN,
        "x-inferflow-rate-limited": "1",
    }
