"""Bytes of any kind are never our fault: those a fuzzer found, and new ones each time."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from grpc import StatusCode
from hypothesis import given, settings
from hypothesis import strategies as st

from ..robustness.scenario import StartScenario
from .calls import PATHS, Fuzzed, seeds, split
from .kept import kept
from .wire_tree import changed, read, write

SEEDS = seeds()
LONGEST = 8192


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    fuzzed = Fuzzed()
    yield fuzzed
    fuzzed.close()


def test_what_a_fuzzer_found_is_answered_or_refused(
    fuzzed: Fuzzed, scenario: StartScenario
) -> None:
    tried = scenario("F1", "what a fuzzer has found")
    met = set()
    for _, given_ in kept():
        path, body = split(given_)
        fuzzed.check(path, body)
        met.add((path, fuzzed.status(path, body)))
        tried.shown("answered or refused, never our fault", "0")
    # What is kept reaches each call, and both of its ends.
    assert met >= {(path, StatusCode.INVALID_ARGUMENT) for path in PATHS}
    assert met >= {(path, StatusCode.OK) for path in PATHS}


@settings(max_examples=300, deadline=None)
@given(
    seed=st.sampled_from(SEEDS),
    chance=st.randoms(use_true_random=False),
    other=st.sampled_from(PATHS),
)
def test_requests_with_other_fields_are_answered_or_refused(
    fuzzed: Fuzzed, scenario: StartScenario, seed: tuple[str, bytes], chance: Random, other: str
) -> None:
    tried = scenario("F1", "requests with other fields")
    path, body = seed
    body = changed(body, chance, LONGEST)
    fuzzed.check(path, body)
    fuzzed.check(other, body)
    tried.shown("answered or refused, never our fault", "0")


@pytest.mark.parametrize(("path", "body"), SEEDS)
def test_a_message_survives_being_a_tree(path: str, body: bytes) -> None:
    nodes = read(body)
    assert nodes is not None
    assert write(nodes) == body


@settings(max_examples=200)
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_a_changed_message_is_still_one(seed: tuple[str, bytes], chance: Random) -> None:
    assert read(changed(seed[1], chance, LONGEST)) is not None
