"""Who gets in, by the one table of rules."""

from __future__ import annotations

import re

import pytest
from fastapi import APIRouter
from starlette.routing import Route, WebSocketRoute

from inferflow.access import Permission
from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.door import Door, rule_of
from inferflow.api.gateway.ports import Bounds, Ports
from inferflow.api.gateway.rates import Rates
from inferflow.api.gateway.rules import RULES, is_change
from inferflow.errors import EngineFault, InvalidInput

from .behind import EchoModels, KnownScoring, asking, keys

REQUEST = {"entities": {"user": "7", "product": ["1"]}}


def every_route() -> list[str]:
    found = []
    for route in make_app(Ports(OpenGate())).routes:
        if isinstance(route, WebSocketRoute):
            found.append(f"WS {route.path}")
        elif isinstance(route, Route):
            found += [f"{verb} {route.path}" for verb in route.methods or () if verb != "HEAD"]
    return sorted(found)


def test_every_route_has_a_rule_and_every_rule_a_route() -> None:
    assert every_route() == sorted(RULES)


@pytest.mark.scenario("G7")
def test_a_route_without_a_rule_cannot_be_mounted() -> None:
    router = APIRouter()

    @router.get("/v1/everything")
    async def everything() -> dict[str, str]:
        return {}

    with pytest.raises(EngineFault, match="GET /v1/everything has no rule"):
        Door(OpenGate(), Rates("", lambda: 0.0)).guard(router.routes[0])


@pytest.mark.parametrize("permission", list(Permission))
def test_a_key_opens_the_routes_of_its_permission_and_no_others(permission: Permission) -> None:
    who = keys(caller=permission.value)
    with asking(gate=who.gate, scoring=KnownScoring(), models=EchoModels()) as client:
        for route in make_app(Ports(OpenGate())).routes:
            if not isinstance(route, Route):
                continue
            rule, _ = rule_of(route)
            path = re.sub(r"\{[^}]*\}", "1", route.path)
            verb = sorted((route.methods or set()) - {"HEAD"})[0]
            stranger = client.request(verb, path)
            known = client.request(verb, path, headers=who["caller"])
            needs = rule.needs
            allowed = set(needs) if isinstance(needs, frozenset) else {needs}
            if rule.also is not None:
                allowed = set()  # one permission is not enough
            if needs is None:
                assert stranger.status_code != 403, path
                assert known.status_code not in (401, 403), path
            else:
                assert stranger.status_code == 401, path
                assert stranger.headers["www-authenticate"] == "Bearer", path
                assert (known.status_code == 403) is (permission not in allowed), path


def test_whoever_plays_may_both_score_and_look() -> None:
    who = keys(both="inference view", one="inference", other="view")
    path, body = "/api/v1/playground/ranker", {"request": REQUEST}
    with asking(gate=who.gate) as client:
        statuses = {
            name: client.post(path, json=body, headers=who[name]).status_code for name in who.texts
        }
    assert statuses == {"both": 404, "one": 403, "other": 403}  # there is no playground here


@pytest.mark.scenario("G1")
def test_nobody_is_let_in_before_their_body_is_read() -> None:
    who = keys(shop="inference")
    with asking(gate=who.gate, scoring=KnownScoring()) as client:
        refused = client.post("/v1/score/r", content=b"{", headers={"content-type": "x"})
    assert refused.status_code == 401


@pytest.mark.parametrize(
    "shown", ["Basic abc", "Bearer", "Bearer ifk_000000000000_wrong", f"Bearer {'x' * 9000}"]
)
def test_what_is_no_key_is_refused_and_not_repeated(shown: str) -> None:
    who = keys(shop="inference")
    with asking(gate=who.gate, scoring=KnownScoring()) as client:
        refused = client.post("/v1/score/r", json=REQUEST, headers={"authorization": shown})
    assert refused.status_code == 401
    assert "wrong" not in refused.text


def test_who_guesses_keys_is_told_to_wait() -> None:
    who = keys(shop="inference")
    with asking(gate=who.gate, scoring=KnownScoring()) as client:
        wrong = {"authorization": "Bearer ifk_000000000000_" + "a" * 43}
        statuses = [
            client.post("/v1/score/r", json=REQUEST, headers=wrong).status_code for _ in range(30)
        ]
    assert statuses[0] == 401
    assert statuses[-1] == 429


def test_a_caller_that_asks_too_often_is_told_when_to_come_back() -> None:
    who = keys(shop="inference", other="inference")
    bounds = Bounds(rate="2/minute")
    with asking(gate=who.gate, scoring=KnownScoring(), bounds=bounds) as client:
        answers = [client.post("/v1/score/r", json=REQUEST, headers=who["shop"]) for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        others = client.post("/v1/score/r", json=REQUEST, headers=who["other"])
    assert others.status_code == 200


def test_without_keys_the_address_is_counted() -> None:
    with asking(scoring=KnownScoring(), bounds=Bounds(rate="1/minute")) as client:
        statuses = [client.post("/v1/score/r", json=REQUEST).status_code for _ in range(2)]
    assert statuses == [200, 429]


@pytest.mark.parametrize("rate", ["often", "5", "5/fortnight"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    with pytest.raises(InvalidInput, match="is not a number per"):
        Rates(rate, lambda: 0.0)


def test_who_asks_is_told_what_they_may() -> None:
    who = keys(analyst="inference view")
    with asking(gate=who.gate) as client:
        me = client.get("/api/v1/me", headers=who["analyst"]).json()
        assert client.get("/api/v1/me").status_code == 401
    assert (me["auth"], me["name"]) == ("on", "analyst")
    assert me["permissions"] == ["inference", "view"]
    with asking() as client:
        nobody = client.get("/api/v1/me").json()
    assert (nobody["auth"], nobody["key_id"], nobody["name"]) == ("off", None, None)
    assert nobody["permissions"] == sorted(Permission)


def test_changes_are_those_that_change_and_need_a_permission_to() -> None:
    changing = {route for route in RULES if is_change(route)}
    assert {route.split()[0] for route in changing} == {"PUT", "POST", "DELETE"}
    assert {"PUT /api/v1/features/{entity}/{group}", "POST /api/v1/keys"} <= changing
    assert "POST /api/v1/configs/{config_id}/check" not in changing
    assert "POST /v1/score/{config_id}" not in changing


def test_a_change_leaves_a_line_that_says_who_made_it_and_how_it_went(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "inferflow.audit")
    who = keys(admin="admin", looker="view")
    with asking(gate=who.gate, models=EchoModels()) as client:
        client.post("/v2/repository/models/echo/load", headers=who["admin"])
        client.post("/v2/repository/models/echo/load", headers=who["admin"], content=b"[]")
        client.post("/v2/repository/models/echo/load", headers=who["looker"])
        client.post("/v2/repository/index", headers=who["admin"])
    lines = [vars(each) for each in caplog.records if each.message == "audit"]
    key_id = who.texts["admin"].split("_")[1]
    assert [(each["by"], each["outcome"]) for each in lines] == [
        (key_id, "ok"),
        (key_id, "status 400"),
        ("", "refused"),
    ]
    assert {each["subject"] for each in lines} == {"/v2/repository/models/echo/load"}


def test_every_route_that_names_a_model_or_a_config_is_about_it() -> None:
    named = re.compile(r"\{(config_id|model|name)\}")
    for route, rule in RULES.items():
        found = named.search(route)
        assert rule.about == (found[1] if found else ""), route
