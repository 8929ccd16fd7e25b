"""The feature store.

- `schema`: what people declare; `history`: every layout a group ever had
- `keys`: the bytes a key's row is stored under
- `layout`, `rowcodec`: where features lie in a packed row, and packing rows
- `view`, `decoder`: rows of any age as the answer of a query
- `values`, `batch`, `group`: what is to be written, typed, checked and merged
- `backend`: what a medium must do; `memory`, `lmdb` do it (`gate`, `commits` help LMDB), and
  `redis` (with `redis_names`, `redis_clients`, `redis_writing`)
- `store`, `reading`: the store itself, and its hot path
- `tables`, `importer`, `exporter`: whole tables in and out
"""

from inferflow.featurestore.backend import Backend
from inferflow.featurestore.exporter import export_columns, export_file
from inferflow.featurestore.importer import import_file, import_table
from inferflow.featurestore.lmdb import LmdbBackend
from inferflow.featurestore.memory import MemoryBackend
from inferflow.featurestore.redis import RedisBackend
from inferflow.featurestore.redis_clients import RedisOptions
from inferflow.featurestore.schema import FeatureSchema, parse_schema
from inferflow.featurestore.store import FeatureStore, StoredValue

__all__ = [
    "Backend",
    "FeatureSchema",
    "FeatureStore",
    "LmdbBackend",
    "MemoryBackend",
    "RedisBackend",
    "RedisOptions",
    "StoredValue",
    "export_columns",
    "export_file",
    "import_file",
    "import_table",
    "parse_schema",
]
