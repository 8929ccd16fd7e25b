"""Routes of a fleet: models, workers, keys, changes."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.api.gateway.management.ports import BackOffice, KeyWish
from inferflow.errors import NotFound, PermissionDenied, RegistryConflict, Unreachable

from ..behind import asking, keys
from .stand_ins import KEY, MODEL_VERSION, WORKER, KnownFleet

API = "/api/v1"


@pytest.mark.parametrize(
    ("verb", "path", "body", "asked"),
    [
        ("GET", "/models", None, ("models", "")),
        ("GET", "/models/like", None, ("model", "", "like")),
        (
            "POST",
            "/models/like/versions/2/promote",
            {"stage": "production", "reason": "better"},
            ("promote", "", "like", "2", "production", "better"),
        ),
        ("DELETE", "/models/like/versions/2", None, ("delete", "", "like", "2")),
        ("PUT", "/models/like/traffic", {"1": 90, "2": 10}, None),
        ("GET", "/workers", None, ("workers", "")),
        ("POST", "/workers/w1/drain", None, ("drain", "", "w1")),
        ("GET", "/keys", None, ("keys", "")),
        ("DELETE", "/keys/k1", None, ("revoke", "", "k1")),
        ("GET", "/audit?limit=7", None, ("audit", "", 7)),
    ],
)
def test_each_route_asks_the_fleet(verb: str, path: str, body: Any, asked: Any) -> None:
    fleet = KnownFleet()
    with asking(office=BackOffice(fleet=fleet)) as client:
        answer = client.request(verb, API + path, json=body)
    assert answer.status_code == 200, answer.text
    wanted = asked or ("traffic", "", "like", {"1": 90.0, "2": 10.0})
    assert fleet.asked == [wanted]


def test_models_workers_and_changes_have_the_managers_own_fields() -> None:
    with asking(office=BackOffice(fleet=KnownFleet())) as client:
        assert client.get(f"{API}/models").json()["models"][0]["versions"] == [MODEL_VERSION]
        assert client.get(f"{API}/workers").json() == {"workers": [WORKER]}
        assert client.get(f"{API}/audit").json()["entries"][0]["action"] == "key created"


def test_the_manager_sees_the_key_of_whoever_asks() -> None:
    fleet, who = KnownFleet(), keys(boss="admin view")
    with asking(gate=who.gate, office=BackOffice(fleet=fleet)) as client:
        client.get(f"{API}/models", headers=who["boss"])
        client.get(f"{API}/keys", headers=who["boss"])
    assert fleet.asked == [("models", who.texts["boss"]), ("keys", who.texts["boss"])]


def test_a_key_is_shown_with_its_text_and_made_as_wished() -> None:
    fleet = KnownFleet()
    body = {
        "name": "shop",
        "permissions": ["inference", "view"],
        "models": ["rank*"],
        "expires_ms": 9,
        "rate": {"per_second": 5, "burst": 7},
    }
    with asking(office=BackOffice(fleet=fleet)) as client:
        told = client.post(f"{API}/keys", json=body).json()
    assert told == {"key": KEY, "text": "ifk_secret"}
    wish = KeyWish("shop", ["inference", "view"], ["rank*"], 9, 5.0, 7)
    assert fleet.asked == [("create", "", wish)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "permissions": []}, "permissions"),
        ({"name": "x", "permissions": ["fly"]}, "permissions.0"),
        ({"name": "", "permissions": ["view"]}, "name"),
        ({"name": "x", "permissions": ["view"], "rate": {"per_second": 0}}, "rate.per_second"),
    ],
)
def test_a_key_that_cannot_be_is_refused(body: dict[str, Any], field: str) -> None:
    with asking(office=BackOffice(fleet=KnownFleet())) as client:
        answer = client.post(f"{API}/keys", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("model", "like"), 404),
        (RegistryConflict("it is in production"), 409),
        (PermissionDenied("lacks the permission"), 403),
    ],
)
def test_what_the_manager_refuses_is_told(error: Exception, status: int) -> None:
    with asking(office=BackOffice(fleet=KnownFleet(refuses=error))) as client:
        assert client.get(f"{API}/models/like").status_code == status


def test_a_manager_that_is_away_is_no_fault_of_the_caller() -> None:
    fleet = KnownFleet(refuses=Unreachable("127.0.0.1:1", 1, "refused"))
    with asking(office=BackOffice(fleet=fleet)) as client:
        assert client.get(f"{API}/workers").status_code == 503


def test_a_key_for_some_models_is_not_told_of_others() -> None:
    who = keys(("page*",), ann="view")
    with asking(gate=who.gate, office=BackOffice(fleet=KnownFleet())) as client:
        assert client.get(f"{API}/models", headers=who["ann"]).json() == {"models": []}


# --- uploads --------------------------------------------------------------------------------

VERSIONS = f"{API}/models/like/versions"


def test_one_file_is_the_model_whatever_it_is_called() -> None:
    fleet = KnownFleet()
    files = [("file", ("mine.onnx", b"abc"))]
    with asking(office=BackOffice(fleet=fleet)) as client:
        made = client.post(VERSIONS, files=files, data={"version": "7", "stage": "staging"})
    assert made.json() == MODEL_VERSION
    assert fleet.files == {"model.onnx": b"abc"}
    more = {"version": "7", "stage": "staging", "description": ""}
    assert fleet.asked == [("upload", "", "like", more)]


def test_several_files_keep_their_names() -> None:
    fleet = KnownFleet()
    files = [("file", ("model.onnx", b"abc")), ("file", ("data/weights.bin", b"d" * 3_000_000))]
    with asking(office=BackOffice(fleet=fleet)) as client:
        assert client.post(VERSIONS, files=files).is_success
    assert fleet.files == {"model.onnx": b"abc", "data/weights.bin": b"d" * 3_000_000}


@pytest.mark.parametrize(
    ("files", "data", "field"),
    [
        ([("other", ("model.onnx", b"a"))], {}, "file"),
        ([("file", ("a", b"a")), ("file", ("b", b"b"))], {}, "file"),
        ([("file", ("../model.onnx", b"a")), ("file", ("model.onnx", b"b"))], {}, "file"),
        ([("file", ("model.onnx", b"a")), ("file", ("model.onnx", b"b"))], {}, "file"),
        ([("file", ("model.onnx", b"a"))], {"stages": "dev"}, "stages"),
        ([("file", ("model.onnx", b"a")), ("version", ("7.txt", b"7"))], {}, "version"),
    ],
)
def test_files_that_make_no_version_are_refused(files: Any, data: Any, field: str) -> None:
    fleet = KnownFleet()
    with asking(office=BackOffice(fleet=fleet)) as client:
        answer = client.post(VERSIONS, files=files, data=data)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert fleet.asked == []


def test_a_body_that_is_no_form_is_refused() -> None:
    with asking(office=BackOffice(fleet=KnownFleet())) as client:
        assert client.post(VERSIONS, json={}).json()["field"] == "body"
        broken = {"content-type": "multipart/form-data; boundary=x"}
        assert client.post(VERSIONS, content=b"--y", headers=broken).status_code == 400


@pytest.mark.parametrize("cut", [1, 4, 20, 90])
def test_a_form_that_is_cut_off_makes_no_version(cut: int) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\nabc\r\n'
    whole = part % b"model.onnx" + part % b"weights.bin" + b"--x--"
    form = {"content-type": "multipart/form-data; boundary=x"}
    fleet = KnownFleet()
    with asking(office=BackOffice(fleet=fleet)) as client:
        refused = client.post(VERSIONS, content=whole[:-cut], headers=form)
        assert (refused.status_code, refused.json()["field"]) == (400, "body")
        assert fleet.asked == []
        assert client.post(VERSIONS, content=whole, headers=form).is_success
    assert set(fleet.files) == {"model.onnx", "weights.bin"}
