"""The one home of pyarrow in the inference log, imported when it is used."""

from __future__ import annotations

from typing import Any

from inferflow.errors import MissingExtra


def pyarrow(for_what: str) -> Any:
    try:
        import pyarrow as pa
    except ModuleNotFoundError as missing:
        raise MissingExtra("parquet", for_what=for_what) from missing
    return pa


def parquet(for_what: str) -> Any:
    """Its part for Parquet files."""
    pyarrow(for_what)
    import pyarrow.parquet as pq

    return pq


def compute(for_what: str) -> Any:
    """Its part for whole columns."""
    pyarrow(for_what)
    import pyarrow.compute as pc

    return pc
