"""Whole tables in and out: Parquet, CSV, Arrow, pandas, plain columns."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, DType
from inferflow.engine.ports import ReadState
from inferflow.errors import InvalidInput, MissingExtra, RowRejected
from inferflow.featurestore import (
    FeatureStore,
    MemoryBackend,
    export_columns,
    export_file,
    import_file,
    import_table,
    importer,
    parse_schema,
)

SCHEMA = parse_schema(
    {
        "entities": {
            "user.category": {
                "keys": ["user", "category"],
                "groups": {"affinity": {"features": {"value": "FP32"}}},
            },
            "item": {
                "keys": ["id"],
                "groups": {
                    "g": {
                        "features": {
                            "price": {"dtype": "FP32", "default": -1},
                            "count": "INT32",
                            "name": {"dtype": "String", "default": "?"},
                            "flag": "Bool",
                            "vec": {"dtype": "FP32Vector", "dim": 2},
                            "tags": {"dtype": "StringVector", "dim": 2},
                        }
                    },
                    "h": {"features": {"count": "INT64", "stars": "FP16"}},
                },
            },
        }
    }
)


@pytest.fixture
def store() -> FeatureStore:
    return FeatureStore(SCHEMA, MemoryBackend(), now=lambda: 1000.0)


def real(store: FeatureStore, key: object, group: str = "g") -> dict[str, Any]:
    found = [value for value in store.get("item", key) if value.group == group]
    return {each.feature: each.value for each in found if each.state is ReadState.REAL}


def csv(folder: Path, text: str, name: str = "item.g.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FULL = {
    "price": 1.5,
    "count": 2,
    "name": "a,b",
    "flag": True,
    "vec": [1.0, 2.0],
    "tags": ["x", "y"],
}


def test_a_csv_is_typed_by_the_schema(store: FeatureStore, tmp_path: Path) -> None:
    text = 'id,price,count,name,flag,vec,tags\n7,1.5,2,"a,b",true,1:2,"[""x"", ""y""]"\n'
    assert import_file(store, csv(tmp_path, "\ufeff" + text)) == 1
    assert real(store, 7) == FULL


def test_a_parquet_file_is_typed_by_the_schema(store: FeatureStore, tmp_path: Path) -> None:
    table = pa.table({"id": [7], **{name: [value] for name, value in FULL.items()}})
    pq.write_table(table, tmp_path / "item.g.parquet")
    assert import_file(store, tmp_path / "item.g.parquet") == 1
    assert real(store, 7) == FULL


@pytest.mark.parametrize("convert", [pd.DataFrame, pa.table, dict])
def test_tables_in_memory_are_taken_as_they_are(store: FeatureStore, convert: Any) -> None:
    columns = {"id": [7, 8], **{name: [value, value] for name, value in FULL.items()}}
    assert import_table(store, "item", "g", convert(columns)) == 2
    assert real(store, 7) == real(store, "8") == FULL


def test_numpy_columns_may_be_two_dimensional(store: FeatureStore) -> None:
    table = {"id": np.array([1, 2]), "vec": np.array([[1, 2], [3, 4]], np.float64)}
    import_table(store, "item", "g", table)
    assert real(store, 2) == {"vec": [3.0, 4.0]}


def test_a_cell_without_a_value_reads_as_the_default(store: FeatureStore, tmp_path: Path) -> None:
    import_table(store, "item", "g", {"id": [1], "price": [5.0], "name": ["x"]})
    import_file(store, csv(tmp_path, "id,price,name\n1,,y\n2,3,\n"))
    assert real(store, 1) == {"name": "y"}
    assert real(store, 2) == {"price": 3.0}
    states = {v.feature: (v.value, v.state) for v in store.get("item", 1) if v.group == "g"}
    assert states["price"] == (-1.0, ReadState.DEFAULT)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"id": [1, 2], "count": pa.array([None, 3], pa.int64()), "vec": [None, [1, 2]]}),
        pd.DataFrame({"id": [1, 2], "count": [math.nan, 3.0], "vec": [None, [1, 2]]}),
        pd.DataFrame({"id": [1, 2], "count": pd.array([None, 3], "Int64"), "vec": [None, [1, 2]]}),
        {"id": [1, 2], "count": [None, 3], "vec": [None, [1, 2]]},
    ],
    ids=["arrow", "pandas-nan", "pandas-na", "lists"],
)
def test_each_kind_of_table_can_say_that_there_is_no_value(store: FeatureStore, table: Any) -> None:
    import_table(store, "item", "g", table)
    assert real(store, 1) == {}
    assert real(store, 2) == {"count": 3, "vec": [1.0, 2.0]}


def test_nan_is_a_number_outside_pandas(store: FeatureStore) -> None:
    import_table(store, "item", "g", {"id": [1], "price": np.array([math.nan])})
    assert math.isnan(real(store, 1)["price"])


def test_arrow_strings_may_be_dictionaries_and_columns_chunked(store: FeatureStore) -> None:
    names = pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode()
    ids = pa.chunked_array([[1, 2], [3]])
    import_table(store, "item", "g", pa.table({"id": ids, "name": names}))
    assert [real(store, key)["name"] for key in (1, 2, 3)] == ["a", "b", "a"]


def test_a_missing_column_leaves_the_feature_as_it_is(store: FeatureStore) -> None:
    import_table(store, "item", "g", {"id": [1, 2], "price": [1.0, 2.0]})
    import_table(store, "item", "g", {"id": [2, 3], "count": [5, 6]})
    found = [real(store, key) for key in (1, 2, 3)]
    assert found == [{"price": 1.0}, {"price": 2.0, "count": 5}, {"count": 6}]


def test_of_equal_keys_the_last_row_wins_also_across_commits(
    store: FeatureStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "COMMIT_ROWS", 2)
    table = {"id": [1, 1.0, 2, "1", "2"], "count": [1, 2, 3, 4, None]}
    calls: list[tuple[int, int]] = []
    import_table(store, "item", "g", table, progress=lambda *at: calls.append(at))
    assert real(store, 1) == {"count": 4}
    assert real(store, 2) == {}
    assert calls == [(0, 5), (2, 5), (4, 5), (5, 5)]


def test_a_file_without_rows_changes_nothing(store: FeatureStore, tmp_path: Path) -> None:
    assert import_file(store, csv(tmp_path, "id,price\n")) == 0
    pq.write_table(
        pa.table({"id": pa.array([], pa.int64()), "vec": pa.array([], pa.list_(pa.float32()))}),
        tmp_path / "item.g.parquet",
    )
    assert import_file(store, tmp_path / "item.g.parquet") == 0
    assert export_columns(store, "item", "g")["id"] == []


def test_the_file_name_says_entity_and_group(store: FeatureStore, tmp_path: Path) -> None:
    import_file(store, csv(tmp_path, "id,h:count,price\n1,2,3\n", "item.csv"))
    assert real(store, 1) == {"price": 3.0}
    assert real(store, 1, "h") == {"count": 2}
    import_file(store, csv(tmp_path, "user,category,value\n1,2,3\n", "user.category.affinity.csv"))
    assert store.get("user.category", [1, 2])[0].value == 3.0
    import_file(store, csv(tmp_path, "id,stars\n1,2\n", "any.csv"), entity="item", group="h")
    assert real(store, 1, "h") == {"count": 2, "stars": 2.0}


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "row", "what"),
    [
        ("id,price\n1,2\n2,x\n", 2, "feature 'price'"),
        ("id,count\n1,2\n2,99999999999\n", 2, "outside Int32"),
        ("id,count\n1,2\n\n2,2.5\n", 2, "feature 'count'"),
        ("id,vec\n1,1:2\n2,1:2:3\n", 2, "3 elements"),
        ("id,price\n1,2\n,3\n", 2, "key 'id'"),
        ("id,price\n1,2\n2\n", 2, "1 cells where 2"),
        ("id,price,count\n1,2,x\n2,x,1\n", 1, "feature 'count'"),
        ("id,price\n1,\n2,x\n", 2, "feature 'price'"),
    ],
)
def test_the_first_row_that_does_not_fit_is_named_and_nothing_is_applied(
    store: FeatureStore, tmp_path: Path, text: str, row: int, what: str
) -> None:
    with pytest.raises(RowRejected, match=what) as refused:
        import_file(store, csv(tmp_path, text))
    assert (refused.value.source, refused.value.row) == ("item.g.csv", row)
    assert export_columns(store, "item", "g")["id"] == []


def test_a_single_row_is_not_taken_for_a_list_of_them(store: FeatureStore) -> None:
    with pytest.raises(InvalidInput, match="a list of rows is wanted"):
        store.put("item", "g", {"id": "1", "price": 2})  # type: ignore[arg-type]


def test_a_parquet_row_that_does_not_fit_is_named(store: FeatureStore, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3], "count": [1, 2, 2**40]}), tmp_path / "item.g.parquet")
    with pytest.raises(RowRejected, match=r"item\.g\.parquet, row 3: feature 'count'"):
        import_file(store, tmp_path / "item.g.parquet")


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("item.g.csv", "id,prise\n", "'prise' is no key or feature.*did you mean 'price'"),
        ("item.g.csv", "price\n1\n", "no column 'id'"),
        ("item.g.csv", "id,id,price\n", "column 'id' is there twice"),
        ("item.g.csv", "", "first line"),
        ("item.g.csv", 'id,price\n1,"2\n', "not a CSV file"),
        ("item.csv", "id,count\n1,2\n", "several groups; write 'g:count' or 'h:count'"),
        ("item.x.csv", "id,count\n1,2\n", "the name says no entity and group"),
        ("item.g.txt", "id", "only .parquet and .csv"),
        ("item.g.parquet", "PAR?", "not a Parquet file"),
    ],
)
def test_a_file_that_does_not_fit_the_schema_is_refused(
    store: FeatureStore, tmp_path: Path, name: str, text: str, what: str
) -> None:
    with pytest.raises(InvalidInput, match=what):
        import_file(store, csv(tmp_path, text, name))


def test_a_csv_that_is_not_utf8_is_refused(store: FeatureStore, tmp_path: Path) -> None:
    (tmp_path / "item.g.csv").write_bytes(b"id,name\n1,caf\xe9\n")
    with pytest.raises(InvalidInput, match="not a CSV file"):
        import_file(store, tmp_path / "item.g.csv")


def test_a_file_that_is_not_there_is_refused(store: FeatureStore, tmp_path: Path) -> None:
    for name in ("item.g.csv", "item.g.parquet"):
        with pytest.raises(InvalidInput, match=f"{name}: cannot be read"):
            import_file(store, tmp_path / name)


@pytest.mark.parametrize(
    "table",
    [
        [1, 2],
        pd.DataFrame([[1, 2, 3]], columns=["id", "price", "price"]),
        {"id": [1, 2], "price": [1.0]},
        pa.table({"id": [1], "price": [pd.Timestamp("2024-01-01")]}),
    ],
)
def test_what_is_no_table_of_this_schema_is_refused(store: FeatureStore, table: Any) -> None:
    with pytest.raises(InvalidInput):
        import_table(store, "item", "g", table)


def test_without_pyarrow_the_extra_is_named(
    store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "item.g.parquet").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"inferflow\[parquet\]"):
        import_file(store, tmp_path / "item.g.parquet")
    with pytest.raises(MissingExtra, match=r"inferflow\[parquet\]"):
        export_file(store, "item", "g", tmp_path / "out.parquet")


# --- export ---------------------------------------------------------------------------------


def test_an_export_holds_live_rows_only_and_nulls_where_there_is_no_value() -> None:
    clock = [1000.0]
    group = {"g": {"ttl": "10s", "features": {"a": "FP32", "b": {"dtype": "INT32", "default": 5}}}}
    schema = parse_schema({"entities": {"e": {"keys": ["id"], "groups": group}}})
    store = FeatureStore(schema, MemoryBackend(), now=lambda: clock[0])
    store.put("e", "g", [{"id": "old", "a": 1, "b": 1}])
    clock[0] += 10
    store.put("e", "g", [{"id": "new", "a": 2}])
    assert export_columns(store, "e", "g") == {"id": ["new"], "a": [2.0], "b": [None]}


def test_an_export_that_fails_leaves_no_file(store: FeatureStore, tmp_path: Path) -> None:
    store.put("item", "g", [{"id": 1, "name": b"\xff"}])
    for name in ("out.csv", "out.parquet"):
        with pytest.raises(InvalidInput, match="not UTF-8"):
            export_file(store, "item", "g", tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput, match="cannot be written"):
        export_file(store, "item", "g", tmp_path / "no" / "such" / "folder.csv")
    with pytest.raises(InvalidInput, match=r"only \.parquet and \.csv"):
        export_file(store, "item", "g", tmp_path / "out.json")


def element(dtype: DType) -> st.SearchStrategy[Any]:
    if dtype.is_text:
        # In a CSV an empty text and no value are the same.
        return st.text(min_size=1, max_size=5)
    if dtype.is_bool:
        return st.booleans()
    if dtype.is_float:
        width = {1: 16, 2: 16, 4: 32, 8: 64}[dtype.size]
        small = st.floats(-400, 400, width=width) if dtype.size == 1 else st.floats(width=width)
        return small | st.just(math.nan)
    limits = np.iinfo(dtype.numpy)
    return st.integers(int(limits.min), int(limits.max))


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A schema with features of any type, and rows for it with holes."""
    features: dict[str, Any] = {}
    dtypes = draw(st.lists(st.sampled_from(list(DTYPES.values())), min_size=1, max_size=5))
    for at, dtype in enumerate(dtypes):
        features[f"f{at}"] = {"dtype": dtype.name, **({"dim": 2} if dtype.is_vector else {})}
    row = {}
    for at, dtype in enumerate(dtypes):
        one = element(dtype.element)
        row[f"f{at}"] = st.none() | (
            st.lists(one, min_size=2, max_size=2) if dtype.is_vector else one
        )
    keys = {"a": st.text(min_size=1, max_size=4), "b": st.integers()}
    rows = draw(st.lists(st.fixed_dictionaries({**keys, **row}), min_size=1, max_size=5))
    return features, rows


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tables(), st.sampled_from(["csv", "parquet", "dict"]))
def test_what_is_exported_imports_back_to_equal_values(
    tmp_path: Path, table: tuple[dict[str, Any], list[dict[str, Any]]], form: str
) -> None:
    features, rows = table
    schema = parse_schema(
        {"entities": {"e": {"keys": ["a", "b"], "groups": {"g": {"features": features}}}}}
    )
    first, second = (FeatureStore(schema, MemoryBackend(), now=lambda: 1.0) for _ in range(2))
    first.put("e", "g", rows)
    if form == "dict":
        import_table(second, "e", "g", export_columns(first, "e", "g"))
    else:
        export_file(first, "e", "g", tmp_path / f"e.g.{form}")
        import_file(second, tmp_path / f"e.g.{form}")
    assert repr(export_columns(second, "e", "g")) == repr(export_columns(first, "e", "g"))
