"""What is known of remote models, and when they are asked again."""

from __future__ import annotations

from inferflow.client.oip.metadata import Known, RemoteSignature
from inferflow.client.oip.signatures import Signatures
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature
from inferflow.testing import ManualClock

AWAY = UnknownSignature("it is away", is_silent=True)


def known(digest: str) -> RemoteSignature:
    return RemoteSignature(ModelSignature("m", "1", (), (), digest), {}, {})


class Asked:
    """Answers as it is told, and counts."""

    def __init__(self, answer: Known) -> None:
        self.answer = answer
        self.times = 0

    def __call__(self, endpoint: Endpoint) -> Known:
        self.times += 1
        return self.answer


def endpoint(model: str = "m", address: str = "h:1") -> Endpoint:
    return Endpoint(address, model, None, address)


def test_what_is_known_is_not_asked_again_within_a_minute() -> None:
    clock, ask = ManualClock(), Asked(known("a"))
    signatures = Signatures(ask, clock=clock)
    for _ in range(5):
        assert signatures.get(endpoint()) == known("a")
    clock.advance(59)
    signatures.get(endpoint())
    assert ask.times == 1
    clock.advance(2)
    ask.answer = known("b")
    assert signatures.get(endpoint()) == known("b")


def test_a_model_that_could_not_be_asked_is_asked_again_after_longer_and_longer_pauses() -> None:
    clock, ask = ManualClock(), Asked(AWAY)
    signatures = Signatures(ask, clock=clock)
    asked_at = []
    for second in range(300):
        before = ask.times
        signatures.get(endpoint())
        if ask.times > before:
            asked_at.append(second)
        clock.advance(1)
    assert asked_at == [0, 1, 3, 7, 15, 31, 63, 123, 183, 243]


def test_what_was_known_stays_known_while_its_server_is_away() -> None:
    clock, ask = ManualClock(), Asked(known("a"))
    signatures = Signatures(ask, clock=clock)
    signatures.get(endpoint())
    ask.answer = AWAY
    clock.advance(61)
    assert signatures.get(endpoint()) == known("a")
    assert ask.times == 2


def test_a_model_that_was_taken_away_is_known_to_be_gone() -> None:
    clock, ask = ManualClock(), Asked(known("a"))
    signatures = Signatures(ask, clock=clock)
    signatures.get(endpoint())
    ask.answer = None
    clock.advance(61)
    assert signatures.get(endpoint()) is None


def test_a_silent_server_is_asked_once_for_all_of_its_models() -> None:
    clock, ask = ManualClock(), Asked(AWAY)
    signatures = Signatures(ask, clock=clock)
    for number in range(5):
        assert signatures.get(endpoint(f"m{number}")) == AWAY
    assert ask.times == 1
    signatures.get(endpoint(address="other:1"))
    assert ask.times == 2


def test_a_mark_changes_when_something_becomes_known_and_only_then() -> None:
    clock, ask = ManualClock(), Asked(AWAY)
    signatures = Signatures(ask, clock=clock)
    first = signatures.recheck([endpoint(), endpoint("other")])
    assert signatures.recheck([endpoint("other"), endpoint()]) == first
    ask.answer = known("a")
    clock.advance(5)
    second = signatures.recheck([endpoint(), endpoint("other")])
    assert second != first
    clock.advance(100)
    assert signatures.recheck([endpoint(), endpoint("other")]) == second


def test_what_nobody_names_any_more_is_forgotten() -> None:
    clock, ask = ManualClock(), Asked(known("a"))
    signatures = Signatures(ask, clock=clock)
    signatures.get(endpoint())
    assert signatures.recheck([]) == ()
    signatures.get(endpoint())
    assert ask.times == 2
