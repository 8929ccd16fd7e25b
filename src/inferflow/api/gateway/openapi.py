"""`python -m inferflow.api.gateway.openapi` prints the OpenAPI document, without a server."""

from __future__ import annotations

import sys

import orjson

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.ports import Ports


def openapi_text() -> str:
    """The same text for the same code, so that it can be kept and compared."""
    document = make_app(Ports(OpenGate())).openapi()
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()


if __name__ == "__main__":
    sys.stdout.write(openapi_text() + "\n")
