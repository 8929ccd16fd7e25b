"""Who is let in, and who is refused before anything is known but the method."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from inferflow.api.entrance import Entrance
from inferflow.rpc.admission import Admission, Patience
from inferflow.rpc.refusing import Refusing
from inferflow.rpc.turns import Turns

PATH = "/Predict/InferPointWise"


async def answer(_body: bytes, _context: Any) -> bytes:
    return b"answered"


async def refuse(_messages: Any, _context: Any) -> bytes:
    raise AssertionError("only looked up here")


class Details:
    method = PATH
    invocation_metadata = ()


class Queue(Turns):
    """Turns with a queue of a told length in seconds."""

    def __init__(self) -> None:
        super().__init__(Patience(0.25))
        self.told_s = 0.0
        self.seen = 0

    def came(self) -> None:
        self.seen += 1

    @property
    def wait_s(self) -> float:
        return self.told_s


def entrance(turns: Turns, admission: Admission) -> Entrance:
    method: Any = grpc.unary_unary_rpc_method_handler(answer)
    inner = grpc.method_handlers_generic_handler("Predict", {"InferPointWise": method})
    return Entrance(inner, {PATH: Refusing(refuse)}, turns=turns, admission=admission)


@pytest.mark.scenario("I1")
def test_a_call_that_would_wait_too_long_is_refused_before_its_message_is_read() -> None:
    turns = Queue()
    door = entrance(turns, Admission(10))
    turns.told_s = 0.25
    assert not isinstance(door.service(Details()), Refusing)
    turns.told_s = 0.26
    assert isinstance(door.service(Details()), Refusing)
    turns.told_s = 0.1
    assert not isinstance(door.service(Details()), Refusing)


def test_a_call_without_a_place_is_refused_before_its_message_is_read() -> None:
    admission = Admission(1)
    door = entrance(Queue(), admission)
    with admission.admitted():
        assert isinstance(door.service(Details()), Refusing)
    assert not isinstance(door.service(Details()), Refusing)


def test_every_call_is_announced_refused_or_not() -> None:
    turns = Queue()
    door = entrance(turns, Admission(10))
    for turns.told_s in (0.0, 1.0, 0.0):
        door.service(Details())
    assert turns.seen == 3
