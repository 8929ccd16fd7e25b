"""Whether the management routes keep to what the OpenAPI document says of them."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.management.ports import BackOffice
from inferflow.api.gateway.ports import Ports

from .stand_ins import (
    KnownConfigs,
    KnownFeatures,
    KnownFleet,
    KnownLive,
    KnownLogs,
    KnownPlayground,
    KnownRecordings,
    KnownSettings,
)

OFFICE = BackOffice(
    KnownConfigs(),
    KnownPlayground(),
    KnownRecordings(),
    KnownFleet(),
    KnownFeatures(),
    KnownLogs(),
    KnownSettings(),
    KnownLive([]),
)
US = {"host": "127.0.0.1"}
MANAGEMENT = schemathesis.openapi.from_asgi(
    "/openapi.json", make_app(Ports(OpenGate(), office=OFFICE)), headers=US
).include(path_regex="^/api/v1/(?!me)")


@pytest.mark.scenario("F8")
@MANAGEMENT.parametrize()
@settings(
    max_examples=4,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_asked_the_answer_is_one_the_document_knows(case: Any) -> None:
    response = case.call(headers=US)
    case.validate_response(
        response,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
