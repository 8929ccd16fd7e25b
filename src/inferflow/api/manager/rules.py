"""What a key must be good for, call by call. A call that is not here is refused to everybody.

Which models a key is for is checked by the services themselves, where the model is known.
"""

from __future__ import annotations

from inferflow.access import KeyCard, Permission
from inferflow.errors import EngineFault, PermissionDenied

DISCOVERY = "inferflow.serving.v1.Discovery"
FLEET = "inferflow.serving.v1.Fleet"
REGISTRY = "inferflow.serving.v1.Registry"
SERVICES = (DISCOVERY, FLEET, REGISTRY)

_INFERENCE = frozenset({Permission.INFERENCE})
_UPLOAD = frozenset({Permission.UPLOAD})
_ADMIN = frozenset({Permission.ADMIN})
_WORKER = frozenset({Permission.WORKER})
_ANY = frozenset(Permission)

RULES: dict[str, frozenset[Permission]] = {
    f"/{DISCOVERY}/Discover": _INFERENCE,
    f"/{DISCOVERY}/Refresh": _INFERENCE,
    f"/{FLEET}/Register": _WORKER,
    f"/{FLEET}/Heartbeat": _WORKER,
    f"/{FLEET}/Drain": _WORKER,
    f"/{FLEET}/FetchModel": _WORKER,
    f"/{REGISTRY}/BeginUpload": _UPLOAD,
    f"/{REGISTRY}/GetUpload": _UPLOAD,
    f"/{REGISTRY}/UploadChunks": _UPLOAD,
    f"/{REGISTRY}/FinishUpload": _UPLOAD,
    f"/{REGISTRY}/AbortUpload": _UPLOAD,
    f"/{REGISTRY}/ListModels": _ANY,
    f"/{REGISTRY}/GetModel": _ANY,
    f"/{REGISTRY}/Promote": _ADMIN,
    f"/{REGISTRY}/SetTraffic": _ADMIN,
    f"/{REGISTRY}/DeleteVersion": _ADMIN,
    f"/{REGISTRY}/ListWorkers": _ADMIN,
    f"/{REGISTRY}/DrainWorker": _ADMIN,
    f"/{REGISTRY}/CreateKey": _ADMIN,
    f"/{REGISTRY}/ListKeys": _ADMIN,
    f"/{REGISTRY}/RevokeKey": _ADMIN,
    f"/{REGISTRY}/ListAudit": _ADMIN,
}
"""Any one of the permissions is enough."""


def check_rule(method: str, card: KeyCard) -> None:
    """Raises PermissionDenied."""
    enough = RULES.get(method)
    if enough is None:
        raise EngineFault(f"{method} has no rule who may call it")
    if not enough & card.permissions:
        needed = " or ".join(repr(each.value) for each in sorted(enough))
        raise PermissionDenied(f"key {card.key_id!r} lacks the permission {needed}")
