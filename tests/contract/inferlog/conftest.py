"""A real broker, and requests to log."""

from __future__ import annotations

from ...servers.kafka import kafka  # noqa: F401
from ...servers.published_decoder import published_decoder  # noqa: F401
from ...unit.inferlog.worlds import answered  # noqa: F401
