"""Names of what travels beside a message."""

from __future__ import annotations

USER_ID = "user-id"
"""Who asks: decides routing and sampling."""
CONFIG_VERSION = "x-inferflow-config-version"
ARM = "x-inferflow-arm"
"""Which config answered, when the id that was asked for stands for several."""
RETRY_AFTER = "retry-after-ms"
PUSHBACK = "grpc-retry-pushback-ms"
"""What gRPC's own retries go by."""
