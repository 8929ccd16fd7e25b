"""The OpenAPI document, and whether the gateway keeps to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.http_reference import page
from inferflow.api.gateway.openapi import openapi_text
from inferflow.api.gateway.ports import Ports
from inferflow.api.gateway.rules import RULES
from inferflow.client.outgoing import outgoing
from inferflow.engine.request import ScoreRequest
from inferflow.scores import Scores, Table

from .behind import EchoModels, KnownScoring, asking


def sent(request: ScoreRequest) -> Scores:
    """Whatever has a form on the wire is answered."""
    ids = outgoing(request).ids
    return Scores(request.config_id, ids, Table({}, [""] * len(ids)))


APP = make_app(Ports(OpenGate(), scoring=KnownScoring(sent), models=EchoModels()))
DOCUMENT = APP.openapi()
ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "docs" / "reference" / "http.md"
VERBS = ("get", "post", "put", "delete")
OPERATIONS = [
    (verb, path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for verb, operation in operations.items()
    if verb in VERBS
]
"""Of the whole gateway, management included."""


def test_operations_have_names_of_their_own_and_say_what_they_do() -> None:
    names = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(names) == len(set(names))
    assert all(operation.get("description") for _, _, operation in OPERATIONS)


def test_each_operation_says_who_may_and_how_it_fails() -> None:
    for verb, path, operation in OPERATIONS:
        needs = RULES[f"{verb.upper()} {path}"].needs
        assert ("x-permission" in operation) is (needs is not None), path
        assert {"4XX", "5XX"} <= operation["responses"].keys(), path


def test_examples_fit_their_schemas() -> None:
    found = 0
    for _, _, operation in OPERATIONS:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if "example" in content:
                schema = {**content["schema"], "components": DOCUMENT["components"]}
                jsonschema.validate(content["example"], schema)
                found += 1
    assert found >= 5
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for example in [schema["example"]] if "example" in schema else []:
            jsonschema.validate(example, {**schema, "components": DOCUMENT["components"]})
            assert name


def test_the_document_is_printed_without_a_server_and_always_the_same() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "inferflow.api.gateway.openapi"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == openapi_text() + "\n"


def test_the_document_that_the_web_pages_are_typed_by_is_this_one() -> None:
    kept = (ROOT / "ui" / "openapi.json").read_text("utf-8")
    command = "python -m inferflow.api.gateway.openapi > ui/openapi.json"
    assert kept == openapi_text() + "\n", f"run: {command}, then `npm run types` in ui"


def test_the_reference_page_lists_every_route_as_it_is() -> None:
    written = REFERENCE.read_text("utf-8")
    assert page(written) == written, f"run: python -m {page.__module__} docs/reference/http.md"


def test_it_can_be_read_as_a_page_that_needs_nothing_from_elsewhere() -> None:
    with asking() as client:
        docs = client.get("/docs").text
    assert "/v1/score/{config_id}/pairs" in docs
    assert "http://" not in docs
    assert "https://" not in docs


US = {"host": "127.0.0.1"}
CORE = schemathesis.openapi.from_asgi("/openapi.json", APP, headers=US).include(
    path_regex="^/(v1|v2|health|metrics|api/v1/me)"
)


@pytest.mark.scenario("F8")
@CORE.parametrize()
@settings(
    max_examples=12,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_asked_the_answer_is_one_the_document_knows(case: Any) -> None:
    response = case.call(headers=US)
    case.validate_response(
        response,
        checks=[not_a_server_error, status_code_conformance, content_type_conformance],
    )
