"""Runs migrations on the connection it is handed; there is no other way to run them."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
context.run_migrations()
