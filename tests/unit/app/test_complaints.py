"""A failure is told when it is new, and now and then while it lasts."""

from __future__ import annotations

from inferflow.app.complaints import AGAIN_S, Complaints

FULL = OSError(28, "No space left on device")


class Told:
    def __init__(self) -> None:
        self.now = 0.0
        self.words: list[str] = []
        self.complaints = Complaints(
            lambda error: self.words.append(str(error)), clock=lambda: self.now
        )


def test_a_failure_that_lasts_is_told_once_a_minute() -> None:
    told = Told()
    for second in range(150):
        told.now = float(second)
        told.complaints.failed(OSError(28, "No space left on device"))
    assert told.words == [str(FULL)] * (1 + int(149 // AGAIN_S))


def test_another_failure_is_told_at_once() -> None:
    told = Told()
    for error in (FULL, OSError("gone"), FULL):
        told.complaints.failed(error)
    assert told.words == [str(FULL), "gone", str(FULL)]


def test_a_failure_that_was_over_is_told_at_once_when_it_is_back() -> None:
    told = Told()
    told.complaints.failed(FULL)
    told.complaints.succeeded()
    told.complaints.failed(FULL)
    assert told.words == [str(FULL)] * 2
