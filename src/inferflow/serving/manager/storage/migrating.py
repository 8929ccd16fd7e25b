"""Brings a database's schema up to date, or says why it cannot.

Migrations are shipped with the package and run inside the caller's transaction, which is the only
writing one: either the whole step happens or none of it. A schema this code does not know was made
by a newer one; using it would damage it.
"""

from __future__ import annotations

import logging

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from inferflow.errors import RegistryFailed

log = logging.getLogger(__name__)

MIGRATIONS = "inferflow.serving.manager.storage:migrations"


def bring_up_to_date(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    config.attributes["connection"] = connection
    scripts = ScriptDirectory.from_config(config)
    head = scripts.get_current_head()
    known = {script.revision for script in scripts.walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        raise RegistryFailed(
            f"the database has schema {found!r}, and this version of Inferflow knows up to "
            f"{head!r}: it was made by a newer one; upgrade Inferflow, or go back to a backup made "
            "before that one was started"
        )
    if found != head:
        command.upgrade(config, "head")
        log.info("registry_migrated", extra={"from_schema": found or "none", "to_schema": head})
