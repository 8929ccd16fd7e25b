"""Events, found by comparing how things stood with how they stand.

Nobody has to tell: whatever changed between two looks did happen, wherever it was done. What was
there at the first look is no news.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Facts = dict[str, Any]

_WORKER_STATES = {
    "online": "worker_online",
    "suspect": "worker_suspect",
    "offline": "worker_dead",
    "draining": "worker_left",
}
_ACTIONS = {
    "version published": "model_uploaded",
    "stage changed": "model_promoted",
    "key created": "key_created",
    "key revoked": "key_revoked",
}


class Happenings:
    """Looked with once per round; asks nobody itself."""

    def __init__(self) -> None:
        self._configs: dict[str, Facts] | None = None
        self._workers: dict[str, str] | None = None
        self._audit: set[tuple[Any, ...]] | None = None

    def configs(self, statuses: Sequence[Facts], at_ms: int) -> list[Facts]:
        now = {status["id"]: status for status in statuses}
        before, self._configs = self._configs, now
        return [] if before is None else list(_config_events(before, now, at_ms))

    def workers(self, workers: Sequence[Facts], at_ms: int) -> list[Facts]:
        now = {worker["worker_id"]: worker["state"] for worker in workers}
        before, self._workers = self._workers, now
        return [] if before is None else list(_worker_events(before, now, at_ms))

    def audit(self, entries: Sequence[Facts]) -> list[Facts]:
        """Entries newest first; events oldest first."""
        now = {_key(entry) for entry in entries}
        before, self._audit = self._audit, now
        if before is None:
            return []
        fresh = [entry for entry in reversed(entries) if _key(entry) not in before]
        return [_audit_event(entry) for entry in fresh if entry["action"] in _ACTIONS]


def event(at_ms: int, kind: str, what: str, detail: str = "") -> Facts:
    return {"type": "event", "at_ms": at_ms, "kind": kind, "what": what, "detail": detail}


def _config_events(
    before: Mapping[str, Facts], now: Mapping[str, Facts], at_ms: int
) -> Iterator[Facts]:
    for config_id, status in now.items():
        old = before.get(config_id, {})
        is_refused = status["state"] != "serving"
        was_refused = bool(old) and old["state"] != "serving"
        if is_refused and (not was_refused or _told(status) != _told(old)):
            yield event(at_ms, "config_refused", config_id, _problems(status))
        serves = (status["version"], status["plan"], status["split"])
        served = (old.get("version"), old.get("plan"), old.get("split"))
        if status["version"] and (serves != served or (was_refused and not is_refused)):
            yield event(at_ms, "config_live", config_id, _version(status))
    for config_id in before.keys() - now.keys():
        yield event(at_ms, "config_removed", config_id)


def _told(status: Facts) -> list[Facts]:
    """Problems, which a server may keep to itself."""
    found: list[Facts] = status.get("problems", [])
    return found


def _problems(status: Facts) -> str:
    errors = [each for each in _told(status) if each["severity"] == "error"]
    first = f"{errors[0]['where']}: {errors[0]['what']}" if errors else "it cannot serve"
    return first if len(errors) < 2 else f"{first}, and {len(errors) - 1} more"


def _version(status: Facts) -> str:
    by = f" by {status['author']}" if status["author"] else ""
    return f"version {status['version']}{by}"


def _worker_events(
    before: Mapping[str, str], now: Mapping[str, str], at_ms: int
) -> Iterator[Facts]:
    for worker_id, state in now.items():
        kind = _WORKER_STATES.get(state)
        if before.get(worker_id) != state and kind is not None:
            yield event(at_ms, kind, worker_id, state)
    for worker_id in before.keys() - now.keys():
        if before[worker_id] != "draining":  # which has been said
            yield event(at_ms, "worker_left", worker_id)


def _key(entry: Facts) -> tuple[Any, ...]:
    return entry["at_ms"], entry["by"], entry["action"], entry["subject"], entry["detail_json"]


def _audit_event(entry: Facts) -> Facts:
    kind = _ACTIONS[entry["action"]]
    try:
        detail = json.loads(entry["detail_json"] or "{}")
    except ValueError:
        detail = {}
    if kind == "model_promoted":
        told = f"{detail.get('from', '')} → {detail.get('to', '')}"
    else:
        told = str(detail.get("name", ""))
    return event(entry["at_ms"], kind, entry["subject"], told)
