"""Live messages as one caller may see them: no more than the routes would tell the same key.

Workers, models and keys are for administrators; configs are for whom the key names them.
"""

from __future__ import annotations

from inferflow.access import Permission
from inferflow.api.gateway.management.ports import Facts
from inferflow.api.gateway.ports import Caller

_OF_CONFIGS = "config_"
"""Events whose kind begins so are about a config."""


def seen_by(caller: Caller, message: Facts) -> Facts:
    """The message without what the caller may not know. The message itself stays as it is."""
    kind = message["type"]
    if kind == "metrics":
        return _metrics(caller, message)
    if kind == "history":
        metrics = [_metrics(caller, each) for each in message["metrics"]]
        events = [each for each in message["events"] if may_know(caller, each)]
        return {**message, "metrics": metrics, "events": events}
    return message


def may_know(caller: Caller, event: Facts) -> bool:
    """Whether an event is any of the caller's business."""
    if event["kind"].startswith(_OF_CONFIGS):
        return caller.models.allow(event["what"])
    return Permission.ADMIN in caller.permissions


def _metrics(caller: Caller, message: Facts) -> Facts:
    seen = dict(message)
    if Permission.ADMIN not in caller.permissions:
        seen.pop("workers", None)
    if caller.models.patterns:
        configs = message["configs"]
        seen["configs"] = {each: configs[each] for each in configs if caller.models.allow(each)}
    return seen
