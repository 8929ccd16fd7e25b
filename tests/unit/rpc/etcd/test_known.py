"""What is known of a range, whatever the order in which listings and changes are heard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inferflow.rpc.etcd.entries import Entry, Listing, prefix_end
from inferflow.rpc.etcd.known import Change, Known

KEYS = st.sampled_from([b"a", b"b", b"c"])
HISTORY = st.lists(st.tuples(KEYS, st.booleans()), max_size=12)
"""Per revision, which key changes, and whether it is there afterwards."""


def changes_of(history: list[tuple[bytes, bool]]) -> list[Change]:
    return [
        (key, revision, Entry(b"%d" % revision, revision) if is_there else None)
        for revision, (key, is_there) in enumerate(history, start=2)
    ]


def at(changes: list[Change], revision: int) -> Listing:
    """What etcd would list: the changes up to a revision, one after another."""
    entries: dict[bytes, Entry] = {}
    for key, when, entry in changes:
        if when <= revision:
            entries.pop(key, None)
            if entry is not None:
                entries[key] = entry
    return Listing(revision, entries)


@given(HISTORY, st.data())
def test_listings_and_changes_in_any_order_lead_to_what_etcd_has(
    history: list[tuple[bytes, bool]], data: st.DataObject
) -> None:
    changes = changes_of(history)
    newest = len(changes) + 1
    known = Known()
    known.adopt(at(changes, data.draw(st.integers(1, newest), label="first listing")))
    told = known.revision
    while told < newest:
        upto = data.draw(st.integers(told + 1, newest), label="told up to")
        known.apply([each for each in changes if told < each[1] <= upto], upto)
        told = upto
        # A listing that was asked for some time ago, and is heard of only now.
        known.adopt(at(changes, data.draw(st.integers(known._listed, newest), label="listing")))
        seen = known.listing()
        assert seen.entries == at(changes, known.revision).entries
    assert known.listing().entries == at(changes, newest).entries


@given(HISTORY, st.data())
def test_a_change_made_here_is_seen_at_once_and_survives_older_news(
    history: list[tuple[bytes, bool]], data: st.DataObject
) -> None:
    changes = changes_of(history)
    first = data.draw(st.integers(1, len(changes) + 1), label="listed")
    known = Known()
    known.adopt(at(changes, first))
    own = data.draw(st.sampled_from([None, *(each for each in changes if each[1] > first)]))
    if own is not None:
        known.apply([own], 0)
        assert known.listing().entries.get(own[0]) == own[2]
    known.apply([each for each in changes if each[1] > first], len(changes) + 1)
    assert known.listing().entries == at(changes, len(changes) + 1).entries


def test_a_listing_says_how_many_keys_were_wrong() -> None:
    known = Known()
    assert known.adopt(Listing(5, {b"a": Entry(b"1", 2), b"b": Entry(b"1", 3)})) == 2
    assert known.adopt(Listing(6, {b"a": Entry(b"1", 2), b"b": Entry(b"1", 3)})) == 0
    assert known.adopt(Listing(9, {b"a": Entry(b"2", 7), b"c": Entry(b"1", 8)})) == 3


def test_an_etcd_that_was_replaced_is_believed_whole() -> None:
    known = Known()
    known.adopt(Listing(50, {b"a": Entry(b"1", 40)}))
    known.apply([(b"b", 51, Entry(b"1", 51))], 51)
    replaced = Listing(7, {b"c": Entry(b"1", 3)})
    assert known.is_past(replaced)
    known.adopt(replaced)
    assert known.listing() == replaced
    known.apply([(b"c", 8, None)], 8)
    assert known.listing() == Listing(8, {})


def test_the_same_listing_is_given_out_until_something_changes() -> None:
    known = Known()
    known.adopt(Listing(5, {b"a": Entry(b"1", 2)}))
    seen = known.listing()
    known.apply([], 9)
    known.adopt(Listing(9, {b"a": Entry(b"1", 2)}))
    assert known.listing() is seen
    known.apply([(b"a", 10, None)], 10)
    assert known.listing() is not seen
    assert seen.entries == {b"a": Entry(b"1", 2)}


def test_the_end_of_a_prefix_is_the_first_key_after_it() -> None:
    assert prefix_end(b"/a/") == b"/a0"
    assert prefix_end(b"a\xff\xff") == b"b"
