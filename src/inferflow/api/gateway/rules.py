"""What a caller must be good for, route by route. A route that is not here cannot be mounted.

`about` names the path parameter that says which model or config the call is about, for keys that
are good for some only.
"""

from __future__ import annotations

from dataclasses import dataclass

from inferflow.access import Permission


@dataclass(frozen=True, slots=True)
class Rule:
    needs: Permission | frozenset[Permission] | None
    """Of several, any one is enough. None: anybody may."""
    about: str = ""
    also: Permission | None = None
    """Wanted beside the other."""


_ANYBODY = Rule(None)
_KNOWN = Rule(frozenset(Permission))
_SCORE = Rule(Permission.INFERENCE, "config_id")
_MODEL = Rule(Permission.INFERENCE, "model")
_LOOK = frozenset({Permission.INFERENCE, Permission.VIEW, Permission.ADMIN})
_ABOUT_MODEL = Rule(_LOOK, "model")
_VIEW = Rule(Permission.VIEW)
_CONFIGURE = Rule(Permission.CONFIGURE)
_VIEW_CONFIG = Rule(Permission.VIEW, "config_id")
_PLAY = Rule(Permission.VIEW, "config_id", also=Permission.INFERENCE)
_CHANGE_CONFIG = Rule(Permission.CONFIGURE, "config_id")
_ADMIN = Rule(Permission.ADMIN)
_UPLOAD = Rule(Permission.UPLOAD, "name")

RULES: dict[str, Rule] = {
    "GET /health/live": _ANYBODY,
    "GET /health/ready": _ANYBODY,
    "GET /metrics": _ANYBODY,
    "GET /openapi.json": _ANYBODY,
    "GET /docs": _ANYBODY,
    "GET /api/v1/me": _ANYBODY,
    # --- scoring
    "POST /v1/score/{config_id}": _SCORE,
    "POST /v1/score/{config_id}/pairs": _SCORE,
    "POST /v1/score/{config_id}/slates": _SCORE,
    "WS /v1/stream/{config_id}": _SCORE,
    # --- the Open Inference Protocol
    "GET /v2": _KNOWN,
    "GET /v2/health/live": _ANYBODY,
    "GET /v2/health/ready": _ANYBODY,
    "GET /v2/models/stats": Rule(_LOOK),
    "GET /v2/models/{model}": _ABOUT_MODEL,
    "GET /v2/models/{model}/ready": _ABOUT_MODEL,
    "GET /v2/models/{model}/config": _ABOUT_MODEL,
    "GET /v2/models/{model}/stats": _ABOUT_MODEL,
    "POST /v2/models/{model}/infer": _MODEL,
    "GET /v2/models/{model}/versions/{version}": _ABOUT_MODEL,
    "GET /v2/models/{model}/versions/{version}/ready": _ABOUT_MODEL,
    "GET /v2/models/{model}/versions/{version}/config": _ABOUT_MODEL,
    "GET /v2/models/{model}/versions/{version}/stats": _ABOUT_MODEL,
    "POST /v2/models/{model}/versions/{version}/infer": _MODEL,
    "WS /v2/models/{model}/stream": _MODEL,
    "POST /v2/repository/index": _ADMIN,
    "POST /v2/repository/models/{model}/load": Rule(Permission.ADMIN, "model"),
    "POST /v2/repository/models/{model}/unload": Rule(Permission.ADMIN, "model"),
    # --- management
    "GET /api/v1/configs": _VIEW,
    "GET /api/v1/configs/{config_id}": _VIEW_CONFIG,
    "GET /api/v1/configs/{config_id}/plan": _VIEW_CONFIG,
    "GET /api/v1/configs/{config_id}/history": _VIEW_CONFIG,
    "GET /api/v1/configs/{config_id}/versions/{number}": _VIEW_CONFIG,
    "GET /api/v1/configs/{config_id}/diff": _VIEW_CONFIG,
    "POST /api/v1/configs/validate": _VIEW,
    "POST /api/v1/configs/{config_id}/check": _CHANGE_CONFIG,
    "PUT /api/v1/configs/{config_id}": _CHANGE_CONFIG,
    "POST /api/v1/configs/{config_id}/rollback": _CHANGE_CONFIG,
    "GET /api/v1/samples": _VIEW,
    "POST /api/v1/playground/{config_id}": _PLAY,
    "GET /api/v1/recordings": _VIEW,
    "GET /api/v1/recordings/{recording}": _VIEW,
    "GET /api/v1/models": _VIEW,
    "GET /api/v1/models/{name}": Rule(Permission.VIEW, "name"),
    "PUT /api/v1/models/{name}/traffic": Rule(Permission.ADMIN, "name"),
    "POST /api/v1/models/{name}/versions": _UPLOAD,
    "POST /api/v1/models/{name}/versions/{version}/promote": Rule(Permission.ADMIN, "name"),
    "DELETE /api/v1/models/{name}/versions/{version}": Rule(Permission.ADMIN, "name"),
    "GET /api/v1/workers": _ADMIN,
    "POST /api/v1/workers/{worker_id}/drain": _ADMIN,
    "GET /api/v1/keys": _ADMIN,
    "POST /api/v1/keys": _ADMIN,
    "DELETE /api/v1/keys/{key_id}": _ADMIN,
    "GET /api/v1/audit": _ADMIN,
    "GET /api/v1/features": _VIEW,
    "POST /api/v1/features/{entity}/lookup": _VIEW,
    "PUT /api/v1/features/{entity}/{group}": _CONFIGURE,
    "GET /api/v1/logs": _VIEW,
    "GET /api/v1/logs/stats": _VIEW,
    "GET /api/v1/settings": _VIEW,
    "GET /api/v1/live": _VIEW,
    "WS /api/v1/live": _VIEW,
}
"""Verb (`WS` for a WebSocket) and path of each route."""


_CHANGING = frozenset({Permission.CONFIGURE, Permission.UPLOAD, Permission.ADMIN})
_LOOKING = frozenset({"POST /api/v1/configs/{config_id}/check", "POST /v2/repository/index"})


def is_change(route: str) -> bool:
    """Whether a route changes what others see, so that it is worth a line who used it."""
    is_asking = route.startswith(("GET ", "WS ")) or route in _LOOKING
    return RULES[route].needs in _CHANGING and not is_asking


def told(rule: Rule) -> str:
    """The permission in words; empty where none is needed."""
    if rule.needs is None:
        return ""
    needs = rule.needs if isinstance(rule.needs, frozenset) else {rule.needs}
    said = "any" if needs == frozenset(Permission) else " or ".join(sorted(needs))
    return said if rule.also is None else f"{said} and {rule.also}"
