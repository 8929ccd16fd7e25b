"""Which calls are let in."""

from __future__ import annotations

import pytest

from inferflow.errors import Overloaded
from inferflow.rpc.admission import Admission, Patience


def test_a_place_is_given_back_however_the_call_ends() -> None:
    admission = Admission(1)
    with pytest.raises(ZeroDivisionError), admission.admitted():
        raise ZeroDivisionError
    with admission.admitted(), pytest.raises(Overloaded), admission.admitted():
        pass
    assert (admission.under_way, admission.refused) == (0, 1)


def test_nobody_is_refused_before_anything_is_known() -> None:
    Patience(0.1).check(1000, left_s=0.1)


def patient(max_wait_s: float) -> Patience:
    """Where each call takes ten milliseconds."""
    patience = Patience(max_wait_s)
    for _ in range(200):
        patience.took(0.01)
    return patience


@pytest.mark.parametrize(
    ("ahead", "left_s", "is_refused"),
    [(20, 10, False), (30, 10, True), (7, 0.1, False), (9, 0.1, True), (0, 0.01, True)],
)
def test_a_call_is_refused_when_it_would_wait_too_long_or_not_be_answered_in_time(
    ahead: int, left_s: float, is_refused: bool
) -> None:
    patience = patient(0.25)
    if is_refused:
        with pytest.raises(Overloaded) as refused:
            patience.check(ahead, left_s)
        assert refused.value.retry_after_ms == max(1, ahead * 10)
    else:
        patience.check(ahead, left_s)


def test_the_average_follows_what_calls_take_now() -> None:
    patience = patient(1)
    for _ in range(200):
        patience.took(0.001)
    assert patience.average_s == pytest.approx(0.001)


def test_calls_that_took_their_time_together_count_as_so_many() -> None:
    patience = Patience(1.0)
    patience.took(0.02, calls=10)
    assert patience.average_s == pytest.approx(0.002)
