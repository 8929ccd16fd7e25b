"""What to send, and how it is cut in parts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.load.plan import Call, Load, call_for
from inferflow.engine.request import request_from
from inferflow.errors import InvalidInput

CALLS = (Call("/s/A", b"a"), Call("/s/B", b"b"), Call("/s/C", b"c"))


@given(
    processes=st.integers(1, 8),
    concurrency=st.integers(8, 100),
    connections=st.integers(1, 100),
)
def test_parts_of_a_closed_loop_add_up(processes: int, concurrency: int, connections: int) -> None:
    whole = Load("t:1", CALLS, seconds=1, concurrency=concurrency, connections=connections)
    parts = whole.shares(processes)
    assert sum(part.concurrency for part in parts) == concurrency
    assert sum(part.connections for part in parts) == max(connections, processes)
    assert all(part.connections >= 1 for part in parts)


@given(processes=st.integers(1, 8), rate=st.floats(1, 1000))
def test_calls_of_parts_of_an_open_loop_are_due_when_those_of_the_whole_are(
    processes: int, rate: float
) -> None:
    def due(load: Load, calls: int) -> list[float]:
        assert load.rate is not None
        return [(load.first + number) / load.rate for number in range(calls)]

    whole = Load("t:1", CALLS, seconds=1, rate=rate)
    parts = [at for part in whole.shares(processes) for at in due(part, 5)]
    assert sorted(parts) == pytest.approx(due(whole, 5 * processes))


def test_parts_begin_with_different_calls() -> None:
    parts = Load("t:1", CALLS, seconds=1, rate=1).shares(4)
    assert ["".join(call.method[-1] for call in part.calls) for part in parts] == [
        "ABC",
        "BCA",
        "CAB",
        "ABC",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"calls": ()},
        {"seconds": 0},
        {"rate": 0},
        {"concurrency": 0},
        {"connections": 0},
        {"warmup_s": -1},
        {"deadline_s": 0},
    ],
)
def test_a_load_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Load(**{"target": "t:1", "calls": CALLS, "seconds": 1, **wrong})


def test_more_processes_than_calls_under_way_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 2"):
        Load("t:1", CALLS, seconds=1, concurrency=2).shares(3)


@pytest.mark.parametrize(
    ("more", "method"),
    [
        ({}, "/Predict/InferPointWise"),
        ({"pairs": [[0, 1]]}, "/Predict/InferPairWise"),
        ({"slates": [[0, 1]]}, "/Predict/InferSlateWise"),
    ],
)
def test_a_request_becomes_the_call_it_fits_with_its_user_in_a_header(
    more: dict[str, Any], method: str
) -> None:
    request = request_from(
        {"model_config_id": "m", "user_id": "ada", "entities": {"book": ["1", "2"]}, **more}
    )
    call = call_for(request)
    assert (call.method, call.headers) == (method, (("user-id", "ada"),))
    assert b"m" in call.body
