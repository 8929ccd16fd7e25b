"""Order, levels, ancestors and cycles, each against a version too simple to be wrong."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inferflow.plan.graph import (
    ancestors,
    complete,
    find_cycle,
    find_cycles,
    levels,
    reverse,
    topological_order,
)

Graph = dict[str, tuple[str, ...]]

NAMES = st.sampled_from("abcdefgh")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph, cycles and loops included."""
    edges = draw(st.dictionaries(NAMES, st.lists(NAMES, max_size=4), max_size=8))
    return complete(edges)


@st.composite
def dags(draw: st.DrawFn) -> Graph:
    """A graph whose edges only go forward in some hidden order of its steps."""
    steps = draw(st.lists(NAMES, unique=True, max_size=8))
    feeds: Graph = {}
    for at, step in enumerate(steps):
        later = steps[at + 1 :]
        feeds[step] = tuple(draw(st.lists(st.sampled_from(later), unique=True)) if later else ())
    written = draw(st.permutations(list(feeds)))
    return {step: feeds[step] for step in written}


def is_reachable(feeds: Graph, start: str, end: str, steps_left: int) -> bool:
    """By one edge or more, and no more than `steps_left`."""
    return steps_left > 0 and any(
        child == end or is_reachable(feeds, child, end, steps_left - 1) for child in feeds[start]
    )


@given(dags())
def test_every_step_of_a_dag_comes_once_and_after_all_that_feed_it(feeds: Graph) -> None:
    order = topological_order(feeds)
    assert sorted(order) == sorted(feeds)
    for step, children in feeds.items():
        assert all(order.index(step) < order.index(child) for child in children)


@given(dags())
def test_ties_in_the_order_keep_what_was_written(feeds: Graph) -> None:
    fed = {child for children in feeds.values() for child in children}
    roots = [step for step in feeds if step not in fed]
    assert topological_order(feeds)[: len(roots)] == roots


@given(dags())
def test_a_level_is_the_longest_path_from_a_root(feeds: Graph) -> None:
    def longest(step: str) -> int:
        return max((longest(parent) + 1 for parent in feeds if step in feeds[parent]), default=0)

    assert levels(feeds) == {step: longest(step) for step in feeds}


@given(graphs())
def test_the_ancestors_of_a_step_are_all_from_which_it_can_be_reached(feeds: Graph) -> None:
    far = len(feeds)
    assert ancestors(feeds) == {
        step: frozenset(other for other in feeds if is_reachable(feeds, other, step, far))
        for step in feeds
    }


@given(graphs())
def test_reversing_twice_gives_the_same_edges(feeds: Graph) -> None:
    again = reverse(reverse(feeds))
    assert {step: set(children) for step, children in again.items()} == {
        step: set(children) for step, children in feeds.items()
    }


@given(graphs())
def test_a_cycle_is_found_exactly_when_a_step_reaches_itself(feeds: Graph) -> None:
    has_cycle = any(is_reachable(feeds, step, step, len(feeds)) for step in feeds)
    assert bool(find_cycle(feeds)) == has_cycle


@given(graphs())
def test_a_cycle_is_a_path_along_edges_back_to_where_it_began(feeds: Graph) -> None:
    cycle = find_cycle(feeds)
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle[:-1])) == len(cycle) - 1
        for step, child in pairwise(cycle):
            assert child in feeds[step]


@given(graphs())
def test_taking_out_every_reported_cycle_leaves_none(feeds: Graph) -> None:
    cycles = find_cycles(feeds)
    on_cycle = [step for cycle in cycles for step in cycle[:-1]]
    assert len(on_cycle) == len(set(on_cycle))
    left = {
        step: tuple(child for child in children if child not in on_cycle)
        for step, children in feeds.items()
        if step not in on_cycle
    }
    assert len(topological_order(left)) == len(left)


def test_a_step_that_feeds_itself_is_a_cycle_of_one() -> None:
    assert find_cycle({"a": ("b",), "b": ("b",)}) == ["b", "b"]


def test_an_edge_written_twice_counts_once() -> None:
    feeds = complete({"a": ["b", "b"]})
    assert feeds == {"a": ("b",), "b": ()}
    assert topological_order(feeds) == ["a", "b"]
