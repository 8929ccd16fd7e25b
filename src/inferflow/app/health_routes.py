"""What every role answers over HTTP: that it lives, whether to send it anything, its metrics."""

from __future__ import annotations

from collections.abc import Callable

from inferflow.api.http import METRICS, Reply


def health_routes(
    not_ready: Callable[[], str], metrics: Callable[[], bytes]
) -> dict[str, Callable[[], Reply]]:
    """`not_ready` says why no request should be sent here; nothing when all is well."""

    def alive() -> Reply:
        return Reply(b"true")

    def ready() -> Reply:
        why = not_ready()
        return Reply(why.encode(), 503) if why else Reply(b"true")

    return {
        "/health/self": alive,
        "/health/live": alive,
        "/health/ready": ready,
        "/metrics": lambda: Reply(metrics(), content_type=METRICS),
    }
