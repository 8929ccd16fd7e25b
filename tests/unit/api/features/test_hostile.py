"""Bytes that nobody would send on purpose: refused as the caller's fault, or answered."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.features.asking import distinct, key_columns, parse_query
from inferflow.api.features.persisting import read_writing
from inferflow.api.features.selection import select
from inferflow.errors import Fault, InferflowError
from inferflow.featurestore import parse_schema

from ....robustness.scenario import StartScenario
from .calls import query, writing

SCHEMA = parse_schema(
    {
        "entities": {
            "item": {
                "keys": ["id"],
                "groups": {
                    "g": {
                        "features": {
                            "f": "FP32",
                            "s": "String",
                            "v": {"dtype": "Int8Vector", "dim": 2},
                        }
                    }
                },
            }
        }
    }
)
ASKED = query("item", [("g", ["f", "s@x", "v"])], [["1"], ["2"]]).SerializeToString()
WRITTEN = writing(
    "item",
    [("g", ["f"]), ("g", ["s"]), ("g", ["v"])],
    [
        (
            ["1"],
            [
                {"fp32_values": [1.5]},
                {"string_values": ["x"]},
                {"vector": [{"int32_values": [1, 2]}]},
            ],
        )
    ],
).SerializeToString()


def damaged(body: bytes) -> st.SearchStrategy[bytes]:
    def put(at: int, what: bytes, cut: int) -> bytes:
        return body[:at] + what + body[at + cut :]

    place = st.integers(0, len(body))
    return st.builds(put, place, st.binary(max_size=6), st.integers(0, 6)) | st.binary(max_size=80)


def fault_of(answer: Callable[[], object]) -> Fault | None:
    """Who is to blame when there is no answer."""
    try:
        answer()
    except InferflowError as refused:
        return refused.fault
    return None


@given(body=damaged(ASKED))
def test_a_damaged_query_is_the_callers_fault(scenario: StartScenario, body: bytes) -> None:
    tried = scenario("F1", "damaged queries to a feature store")

    def answer() -> None:
        asked = parse_query(body)
        select(SCHEMA, asked.entity, asked.groups, asked.keys_schema)
        keys, _ = distinct(asked.keys)
        columns = key_columns(keys, asked.keys_schema)
        assert {len(column) for column in columns} <= {len(keys)}

    fault = fault_of(answer)
    tried.none("answer that is our fault", {fault} - {None, Fault.CALLER, Fault.ABSENT})


@given(damaged(WRITTEN))
def test_a_damaged_write_is_the_callers_fault(body: bytes) -> None:
    fault = fault_of(lambda: read_writing(body, SCHEMA))
    assert fault in (None, Fault.CALLER, Fault.ABSENT)
