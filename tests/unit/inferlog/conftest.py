"""Finished requests for every test here."""

from .worlds import answered  # noqa: F401
