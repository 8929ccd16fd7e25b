"""What people may import from the top, and nothing else by accident."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import inferflow
from inferflow import errors

PUBLIC = [
    "Flow",
    "InferflowError",
    "Scores",
    "Tls",
    "__version__",
    "aconnect",
    "aconnect_fleet",
    "connect",
    "connect_fleet",
    "open",
]


def test_the_names_at_the_top_are_these() -> None:
    assert sorted(inferflow.__all__) == PUBLIC
    assert dir(inferflow) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_at_the_top_is_there(name: str) -> None:
    assert getattr(inferflow, name) is not None


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="'inferflow' has no attribute 'opne'"):
        inferflow.opne  # noqa: B018


def test_the_version_is_a_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+([abrc.]+(dev)?\d+)?", inferflow.__version__)


def test_names_in_all_exist_in_every_package() -> None:
    for found in pkgutil.walk_packages(inferflow.__path__, "inferflow."):
        if found.ispkg and "._proto" not in found.name:
            package = importlib.import_module(found.name)
            for name in getattr(package, "__all__", ()):
                assert hasattr(package, name), f"{found.name}.{name}"


# --- errors -------------------------------------------------------------------------------------

ERRORS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.InferflowError)
]


def test_the_tree_of_errors_is_drawn_on_top_of_the_package() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    assert sorted(drawn) == sorted(
        kind.__name__ for kind in ERRORS if kind is not errors.InferflowError
    )


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_says_what_it_is_and_who_must_act(kind: type[errors.InferflowError]) -> None:
    assert kind.__doc__
    assert isinstance(kind.fault, errors.Fault)
