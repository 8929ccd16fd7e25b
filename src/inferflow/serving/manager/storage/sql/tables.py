"""The tables as the newest migration leaves them; a test holds the two to each other.

Times are milliseconds in 64 bits. Lists that are only ever read whole are JSON.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

_COUNTED = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself for this one type only."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

facts = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

revision = Table(
    "revision",
    metadata,
    Column("one", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("last_number", BigInteger, nullable=False),
)

versions = Table(
    "versions",
    metadata,
    Column("model", ForeignKey("models.name"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("stage", String(16), nullable=False),
    Column("folder", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("files", JSON, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("outputs", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("description", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("problem", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("created_by", String(64), nullable=False),
    UniqueConstraint("folder"),
)

one_in_production = Index(
    "ix_versions_one_in_production",
    versions.c.model,
    unique=True,
    sqlite_where=text("stage = 'production'"),
    postgresql_where=text("stage = 'production'"),
)
"""Whatever the code believes, the database never holds two."""

stage_changes = Table(
    "stage_changes",
    metadata,
    Column("id", _COUNTED, primary_key=True),
    Column("model", String(128), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("from_stage", String(16)),
    Column("to_stage", String(16), nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("by", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    ForeignKeyConstraint(
        ["model", "number"], ["versions.model", "versions.number"], ondelete="CASCADE"
    ),
    Index(None, "model", "number"),
)

traffic = Table(
    "traffic",
    metadata,
    Column("model", String(128), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("percent", Float, nullable=False),
    ForeignKeyConstraint(
        ["model", "number"], ["versions.model", "versions.number"], ondelete="CASCADE"
    ),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("permissions", JSON, nullable=False),
    Column("models", JSON, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("created_by", String(64), nullable=False),
    Column("expires_ms", BigInteger),
    Column("revoked_ms", BigInteger),
    Column("per_second", Float),
    Column("burst", BigInteger),
)

key_usage = Table(
    "key_usage",
    metadata,
    Column("key_id", ForeignKey("api_keys.key_id"), primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Column("last_used_ms", BigInteger, nullable=False),
)

uploads = Table(
    "uploads",
    metadata,
    Column("upload_id", String(64), primary_key=True),
    Column("model", String(128), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("created_by", String(64), nullable=False),
    Column("options", JSON, nullable=False),
    Column("description", Text, nullable=False),
    Column("claimed_until_ms", BigInteger, nullable=False),
    UniqueConstraint("model", "number"),
)

upload_files = Table(
    "upload_files",
    metadata,
    Column("upload_id", ForeignKey("uploads.upload_id", ondelete="CASCADE"), primary_key=True),
    Column("path", String(255), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("received", BigInteger, nullable=False),
)

upload_parts = Table(
    "upload_parts",
    metadata,
    Column("upload_id", ForeignKey("uploads.upload_id", ondelete="CASCADE"), primary_key=True),
    Column("path", String(255), primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("object_name", String(255), nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("worker_id", String(128), primary_key=True),
    Column("address", String(255), nullable=False),
    Column("registered_ms", BigInteger, nullable=False),
    Column("last_seen_ms", BigInteger, nullable=False),
    Column("slots", BigInteger, nullable=False),
    Column("memory_budget_bytes", BigInteger, nullable=False),
    Column("devices", JSON, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("software_version", String(64), nullable=False),
    Column("draining", Boolean, nullable=False),
    Column("report", JSON, nullable=False),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", String(64), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("signs_from_ms", BigInteger, nullable=False),
    Column("signs_until_ms", BigInteger, nullable=False),
    Column("verifies_until_ms", BigInteger, nullable=False),
)

revoked_tokens = Table(
    "revoked_tokens",
    metadata,
    Column("token_id", String(64), primary_key=True),
    Column("until_ms", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _COUNTED, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("by", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("detail", JSON, nullable=False),
    Column("model", String(128)),
    Index(None, "model", "id"),
    Index(None, "by", "id"),
)

duties = Table(
    "duties",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(128), nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("term", BigInteger, nullable=False),
)
