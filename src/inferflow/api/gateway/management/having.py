"""A part the gateway may not have, and who asks, for the routes that need them."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request

from inferflow.api.gateway.management.ports import Facts
from inferflow.api.gateway.problem import Refused

Part = TypeVar("Part")

AUTHOR = "gateway"
"""Who changed something, where nobody is asked for a key."""
ABSENT = 404
CONFIG = "model_config_id"
"""How records of requests name the config."""

_IN_A_PROJECT = "start the gateway in a project's folder"
_HINTS = {
    "configs": _IN_A_PROJECT,
    "playground": _IN_A_PROJECT,
    "features": _IN_A_PROJECT,
    "recordings": "the setting `serve.explain` turns them on",
    "fleet": "name a manager with INFERFLOW_MANAGER, or let `inferflow up` run a fleet with"
    " INFERFLOW_FLEET_ENABLED=true",
}
"""How a gateway comes to have the part."""


def having(part: Part | None, name: str) -> Part:
    """Raises Refused when there is no such part, with how to get it."""
    if part is None:
        raise Refused(ABSENT, f"this gateway has no {name}", hint=_HINTS.get(name))
    return part


def author_of(request: Request) -> str:
    caller = request.state.caller
    return caller.name or caller.key_id or AUTHOR


def credential_of(request: Request) -> str:
    """What the servers behind are shown; empty where nobody is asked for a key."""
    credential: str = request.state.caller.credential
    return credential


def allowed(request: Request, found: list[Facts], name: str) -> list[Facts]:
    """Those of models or configs that the caller's key is for."""
    return [each for each in found if is_for(request, each[name])]


def is_for(request: Request, model: str) -> bool:
    """Whether the caller's key is for this model or config."""
    is_allowed: bool = request.state.caller.models.allow(model)
    return is_allowed
