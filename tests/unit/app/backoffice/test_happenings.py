"""Events, found by comparing."""

from __future__ import annotations

from typing import Any

from inferflow.app.backoffice.happenings import Happenings

Facts = dict[str, Any]


def status(config_id: str = "a", **more: Any) -> Facts:
    return {
        "id": config_id,
        "state": "serving",
        "version": 1,
        "plan": "d1",
        "split": None,
        "author": "ann",
        "problems": [],
        **more,
    }


def problem(what: str) -> Facts:
    return {"where": "x", "what": what, "severity": "error"}


def kinds(events: list[Facts]) -> list[tuple[str, str, str]]:
    return [(each["kind"], each["what"], each["detail"]) for each in events]


def test_what_was_there_at_first_is_no_news() -> None:
    seen = Happenings()
    assert seen.configs([status()], 1) == []
    assert seen.configs([status()], 2) == []


def test_configs_come_live_are_refused_mended_and_removed() -> None:
    seen = Happenings()
    seen.configs([status()], 1)
    came = seen.configs([status(version=2, plan="d2"), status("b", author="")], 2)
    assert kinds(came) == [
        ("config_live", "a", "version 2 by ann"),
        ("config_live", "b", "version 1"),
    ]
    bad = status(version=2, plan="d2", state="last good", problems=[problem("p"), problem("q")])
    assert kinds(seen.configs([bad], 3)) == [
        ("config_refused", "a", "x: p, and 1 more"),
        ("config_removed", "b", ""),
    ]
    assert seen.configs([bad], 4) == []
    worse = {**bad, "problems": [problem("r")]}
    assert kinds(seen.configs([worse], 5)) == [("config_refused", "a", "x: r")]
    assert kinds(seen.configs([status(version=2, plan="d2")], 6)) == [
        ("config_live", "a", "version 2 by ann")
    ]


def test_one_that_never_served_is_refused_and_not_live() -> None:
    seen = Happenings()
    seen.configs([], 1)
    refused = status(state="refused", version=0, plan="", problems=[problem("p")])
    assert kinds(seen.configs([refused], 2)) == [("config_refused", "a", "x: p")]


def test_a_server_may_keep_problems_to_itself() -> None:
    seen = Happenings()
    seen.configs([status()], 1)
    refused = status(state="last good")
    del refused["problems"]
    assert kinds(seen.configs([refused], 2)) == [("config_refused", "a", "it cannot serve")]


def test_workers_come_go_silent_die_come_back_and_leave() -> None:
    seen = Happenings()

    def now(**states: str) -> list[tuple[str, str, str]]:
        listed = [{"worker_id": name, "state": state} for name, state in states.items()]
        return kinds(seen.workers(listed, 1))

    assert now(w="online") == []
    assert now(w="suspect", v="online") == [
        ("worker_suspect", "w", "suspect"),
        ("worker_online", "v", "online"),
    ]
    assert now(w="offline", v="draining") == [
        ("worker_dead", "w", "offline"),
        ("worker_left", "v", "draining"),
    ]
    assert now(w="online") == [("worker_online", "w", "online")]
    assert now() == [("worker_left", "w", "")]


def entry(at_ms: int, action: str, detail: str = "{}") -> Facts:
    return {
        "at_ms": at_ms,
        "by": "k",
        "action": action,
        "subject": f"s{at_ms}",
        "detail_json": detail,
    }


def test_changes_of_the_registry_are_told_oldest_first() -> None:
    seen, old = Happenings(), entry(1, "key created")
    assert seen.audit([old]) == []
    fresh = [
        entry(5, "traffic set"),
        entry(4, "stage changed", '{"from": "dev", "to": "production"}'),
        entry(3, "version published", "not json"),
        entry(2, "key created", '{"name": "shop"}'),
        old,
    ]
    assert kinds(seen.audit(fresh)) == [
        ("key_created", "s2", "shop"),
        ("model_uploaded", "s3", ""),
        ("model_promoted", "s4", "dev → production"),
    ]
    assert seen.audit(fresh) == []
    assert kinds(seen.audit([entry(6, "key revoked"), *fresh])) == [("key_revoked", "s6", "")]
