"""Refusals of configs with all there is to say: whoever edits one may see what is inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any

from inferflow.api.gateway.management.ports import Facts
from inferflow.api.gateway.problem import Refused
from inferflow.errors import GoldenFailed, PlanRejected, VersionConflict

CONFLICT, REJECTED = 409, 422


@contextmanager
def rejecting() -> Iterator[None]:
    """What is refused inside becomes an answer that names every problem."""
    try:
        yield
    except VersionConflict as conflict:
        raise Refused(CONFLICT, str(conflict), current=conflict.current) from conflict
    except PlanRejected as rejected:
        problems = [_plain(each) for each in rejected.problems]
        detail = f"config {rejected.config_id!r} has {len(problems)} problem(s)"
        raise Refused(REJECTED, detail, problems=problems) from rejected
    except GoldenFailed as failed:
        golden = [_golden(each) for each in failed.differences]
        detail = f"config {failed.config_id!r} fails {len(golden)} golden request(s)"
        raise Refused(REJECTED, detail, golden=golden) from failed


def _plain(each: object) -> Facts:
    if is_dataclass(each) and not isinstance(each, type):
        return asdict(each)
    return {"where": "config", "what": str(each), "severity": "error"}


def _golden(each: Any) -> Facts:
    return {
        "request": each.request,
        "passed": each.passed,
        "difference": each.worst if each.columns else None,
        "detail": each.why,
    }
