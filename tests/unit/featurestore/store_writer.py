"""Run as a process of its own: writes batches to an LMDB store and says when each is committed.

    python store_writer.py FOLDER MAP_BYTES FIRST_BATCH BATCHES ROWS

Batch n writes n into every feature of every row, so a row that mixes two numbers is torn and
a store that mixes two numbers shows half a batch. It also leaves one row that is never
written again.
"""

from __future__ import annotations

import sys

from inferflow.featurestore import FeatureStore, LmdbBackend, parse_schema

WIDTH = 50
SCHEMA = parse_schema(
    {
        "entities": {
            "item": {
                "keys": ["id"],
                "groups": {
                    "g": {
                        "features": {
                            "number": "INT64",
                            "vector": {"dtype": "INT32Vector", "dim": WIDTH},
                            "text": "String",
                        }
                    }
                },
            }
        }
    }
)


def batch(number: int, rows: int) -> list[dict[str, object]]:
    keys = [*(f"k{row}" for row in range(rows)), f"batch{number}"]
    values = {"number": number, "vector": [number] * WIDTH, "text": str(number) * WIDTH}
    return [{"id": key, **values} for key in keys]


def main(folder: str, map_bytes: int, first: int, batches: int, rows: int) -> None:
    store = FeatureStore(SCHEMA, LmdbBackend(folder, map_bytes=map_bytes))
    for number in range(first, first + batches):
        store.put("item", "g", batch(number, rows))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
