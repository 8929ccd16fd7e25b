"""Inferflow: rank, recommend and score from a config.

    import inferflow

    flow = inferflow.open("shop")
    ranking = flow.score("ranker", user="7", product=["1", "2", "3"])

The same calls over the network: `inferflow.connect("localhost:50051")`, `aconnect` for asyncio.
Models of a fleet, one by one: `inferflow.connect_fleet("manager:50060")`.
Importing this package is cheap; each name loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inferflow._version import __version__ as __version__

if TYPE_CHECKING:
    from inferflow.app.flow import Flow as Flow
    from inferflow.app.flow import open_flow as open
    from inferflow.client.connecting import aconnect as aconnect
    from inferflow.client.connecting import aconnect_fleet as aconnect_fleet
    from inferflow.client.connecting import connect as connect
    from inferflow.client.connecting import connect_fleet as connect_fleet
    from inferflow.client.tls import Tls as Tls
    from inferflow.errors import InferflowError as InferflowError
    from inferflow.scores import Scores as Scores

_LAZY = {
    "open": ("inferflow.app.flow", "open_flow"),
    "connect": ("inferflow.client.connecting", "connect"),
    "aconnect": ("inferflow.client.connecting", "aconnect"),
    "connect_fleet": ("inferflow.client.connecting", "connect_fleet"),
    "aconnect_fleet": ("inferflow.client.connecting", "aconnect_fleet"),
    "Tls": ("inferflow.client.tls", "Tls"),
    "Flow": ("inferflow.app.flow", "Flow"),
    "Scores": ("inferflow.scores", "Scores"),
    "InferflowError": ("inferflow.errors", "InferflowError"),
}

__all__ = [
    "Flow",
    "InferflowError",
    "Scores",
    "Tls",
    "__version__",
    "aconnect",
    "aconnect_fleet",
    "connect",
    "connect_fleet",
    "open",
]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'inferflow' has no attribute {name!r}") from None
    from importlib import import_module

    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
