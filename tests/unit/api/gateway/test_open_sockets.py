"""Places of sockets, counted in all and by caller."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from inferflow.api.gateway.open_sockets import OpenSockets, Seat
from inferflow.errors import TooManySockets

WHO = st.sampled_from(["10.0.0.1", "10.0.0.2", "key-1", "key-2"])


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 40), st.data())
def test_there_are_never_more_than_allowed_and_refusals_take_nothing(
    most: int, each: int, steps: int, data: DataObject
) -> None:
    places = OpenSockets(most, each)
    held: list[tuple[Seat, str]] = []
    for _ in range(steps):
        did = data.draw(st.sampled_from(["enter", "move", "leave"]))
        who = data.draw(WHO)
        mine = sum(1 for _, owner in held if owner == who)
        if did == "enter":
            try:
                held.append((places.enter(who), who))
                assert len(held) <= most
                assert mine < each
            except TooManySockets:
                assert len(held) == most or mine == each
        elif held:
            seat, owner = held.pop(data.draw(st.integers(0, len(held) - 1)))
            if did == "leave":
                seat.leave()
                continue
            try:
                seat.belongs_to(who)
                owner = who
            except TooManySockets:
                assert mine == each
                assert owner != who
            held.append((seat, owner))
        assert len(places) == len(held)
