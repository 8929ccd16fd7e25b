"""Writes docs/reference/python.md: what people may import, from the code's own words.

    python -m tests.python_reference

The page is what this prints; tests/unit/test_python_reference.py holds it to that.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inferflow
from inferflow import testing
from inferflow.client.aio import AsyncClient
from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.client.sdk.sync import FleetClient
from inferflow.client.sync import Client

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
FUNCTIONS = ("open", "connect", "aconnect", "connect_fleet", "aconnect_fleet")
CLASSES = (
    inferflow.Flow,
    Client,
    AsyncClient,
    FleetClient,
    AsyncFleetClient,
    inferflow.Scores,
    inferflow.Tls,
)
_LINE = 80
HEAD = """# Python

What `import inferflow` offers, in the words of the code: `python -m tests.python_reference` prints
this page, and a test holds it to that. [Calling a served project](../guide/clients.md) and
[Calling the models of a fleet](../guide/sdk.md) show it at work, [Errors](errors.md) lists what may
be raised.
"""


def page() -> str:
    return "\n".join([HEAD, *_functions(), *_classes(), *_testing()])


def _functions() -> Iterator[str]:
    yield "## Opening and connecting\n"
    for name in FUNCTIONS:
        function = getattr(inferflow, name)
        yield f"### inferflow.{name}\n"
        yield _code(f"inferflow.{name}", function)
        yield f"{_words(function)}\n"


def _classes() -> Iterator[str]:
    for kind in CLASSES:
        yield f"## {kind.__name__}\n"
        yield f"{_words(kind)}\n"
        for name, member in _public(kind):
            if isinstance(member, property):
                yield f"**`{name}`** {_words(member)}\n"
            else:
                yield _code(name, member)
                yield f"{_words(member)}\n"


def _testing() -> Iterator[str]:
    yield "## inferflow.testing\n"
    yield f"{_words(testing)}\n"
    for name in testing.__all__:
        yield f"- `{name}`: {_first(getattr(testing, name))}"
    yield ""


def _public(kind: type) -> Iterator[tuple[str, Any]]:
    """What has a docstring; what a class shares with others comes first."""
    shown = {
        name: getattr(kind, name)
        for owner in reversed(kind.__mro__)
        if owner.__module__.startswith("inferflow.")
        for name, member in vars(owner).items()
        if inspect.isfunction(member) or isinstance(member, property | classmethod)
    }
    for name, member in shown.items():
        if not name.startswith("_") and inspect.getdoc(member):
            yield name, member


def _code(name: str, function: Any) -> str:
    word = "await " if inspect.iscoroutinefunction(function) else ""
    signature = inspect.signature(function)
    listed = list(_parameters(signature))
    inside = ", ".join(listed)
    if len(name) + len(inside) > _LINE:
        inside = "".join(f"\n    {each}," for each in listed) + "\n"
    return f"```python\n{word}{name}({inside}) -> {signature.return_annotation}\n```\n"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    is_named = False
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not is_named:
            is_named = True
            yield "*"
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        is_named = is_named or stars == "*"
        default = "" if each.default is each.empty else f" = {each.default!r}"
        yield f"{stars}{each.name}: {each.annotation}{default}"


def _words(thing: Any) -> str:
    return inspect.getdoc(thing) or ""


def _first(thing: Any) -> str:
    return " ".join(_words(thing).partition("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
