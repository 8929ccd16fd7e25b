"""Audit entries say which model they are about, and are found by it and by who made them.

What an entry is about was part of its subject: `ranker`, or `ranker@2` for a version. Subjects of
other entries are ids of keys, workers and tokens.

Managers of the version before go on while they are replaced one by one: what they add names no
model, and is found in the list of all.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ABOUT_MODELS = (
    "problem reported",
    "problem withdrawn",
    "stage changed",
    "traffic set",
    "upload aborted",
    "upload refused",
    "version deleted",
    "version published",
)


def upgrade() -> None:
    op.add_column("audit", sa.Column("model", sa.String(length=128), nullable=True))
    _fill()
    op.create_index(op.f("ix_audit_model_id"), "audit", ["model", "id"])
    op.create_index(op.f("ix_audit_by_id"), "audit", ["by", "id"])


def _fill() -> None:
    """Per subject, not per entry: there are few models, and what happens to them adds up."""
    audit = sa.table("audit", sa.column("action"), sa.column("subject"), sa.column("model"))
    is_about_one = audit.c.action.in_(_ABOUT_MODELS)
    connection = op.get_bind()
    found = connection.execute(sa.select(audit.c.subject).where(is_about_one).distinct())
    for subject in found.scalars().all():
        connection.execute(
            sa.update(audit)
            .where(is_about_one, audit.c.subject == subject)
            .values(model=subject.partition("@")[0])
        )
