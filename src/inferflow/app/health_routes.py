"""What every role answers over HTTP: that it lives, whether to send it anything, its metrics."""

from __future__ import annotations

from collections.abc import Callable

from inferflow.api.http import METRICS, Reply

Routes = dict[str, Callable[[], Reply]]


def health_routes(
    not_ready: Callable[[], str], *, standing: Callable[[], str] = lambda: "true"
) -> Routes:
    """`not_ready` says why no request should be sent here, nothing when all is well; `standing`
    what is answered then."""

    def alive() -> Reply:
        return Reply(b"true")

    def ready() -> Reply:
        why = not_ready()
        return Reply(why.encode(), 503) if why else Reply(standing().encode())

    return {"/health/self": alive, "/health/live": alive, "/health/ready": ready}


def metrics_route(render: Callable[[], bytes]) -> Routes:
    return {"/metrics": lambda: Reply(render(), content_type=METRICS)}
