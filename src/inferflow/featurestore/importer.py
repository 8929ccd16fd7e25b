"""Bulk import: a whole table is typed and checked first, then written.

When a row does not fit, the import is refused with the row's number and nothing is applied.
What fits is committed in parts of `COMMIT_ROWS`, so an import up to that size is all or nothing
even when the machine stops; a larger one that is cut short can simply be run again. A feature
without a column keeps what is stored. Of rows with the same key the last one wins.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from inferflow.errors import InvalidInput
from inferflow.featurestore.batch import batch_of_table
from inferflow.featurestore.store import FeatureStore
from inferflow.featurestore.tables import Table, read_table, table_of

COMMIT_ROWS = 250_000

Progress = Callable[[int, int], None]
"""Called with rows done and rows in all: first when all are checked, then after each commit."""


def import_file(
    store: FeatureStore,
    path: str | Path,
    *,
    entity: str | None = None,
    group: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Import a .parquet or .csv file and return its number of rows.

    Entity and group are taken from a name like `product.attributes.parquet` unless given.
    """
    path = Path(path)
    if entity is None:
        entity, named = _named_by(path, store)
        group = group or named
    return _write(store, entity, group, read_table(path), path.name, progress)


def import_table(
    store: FeatureStore,
    entity: str,
    group: str | None,
    data: object,
    *,
    source: str = "table",
    progress: Progress | None = None,
) -> int:
    """Import a DataFrame, an Arrow table or a dict of columns, and return its number of rows."""
    return _write(store, entity, group, table_of(data), source, progress)


def _named_by(path: Path, store: FeatureStore) -> tuple[str, str | None]:
    """`product.attributes.csv` holds the group `attributes` of `product`; `product.csv` any."""
    stem = path.name[: -len(path.suffix)]
    for entity in store.schema.entities:
        if stem == entity:
            return entity, None
        if stem.startswith(f"{entity}.") and stem[len(entity) + 1 :] in (
            store.schema.entity(entity).groups
        ):
            return entity, stem[len(entity) + 1 :]
    raise InvalidInput(
        f"{path.name}: the name says no entity and group of the schema;"
        " name it <entity>.<group>.csv, or say which they are"
    )


def _write(
    store: FeatureStore,
    entity: str,
    group: str | None,
    table: Table,
    source: str,
    progress: Progress | None,
) -> int:
    batch = batch_of_table(store.schema.entity(entity), group, table, source=source)
    total = len(batch)
    if progress is not None:
        progress(0, total)
    for start in range(0, total, COMMIT_ROWS):
        part = slice(start, start + COMMIT_ROWS)
        store.write(entity, batch.part(part))
        if progress is not None:
            progress(min(part.stop, total), total)
    return total
