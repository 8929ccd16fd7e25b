"""The queries, one module per kind of record; the same for SQLite and PostgreSQL.

- `tables`: the tables as the newest migration leaves them
- `models`, `keys`, `uploads`, `signing`, `workers`, `journal`: each keeps one kind of record
"""
