"""Which way packages import, and where each vendor is at home. A contract, not a hope."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "inferflow"

LAYERED_BY_NOBODY = {"demo", "testing"}
"""Packages that sit on top of everything and that nothing imports."""

HOMES = {
    "cryptography": {
        "access/dev_certificates.py",
        "access/sealing.py",
        "access/signing.py",
        "access/tokens.py",
        "rpc/tls_watch.py",
    },
    "granian": {"app/http_server.py"},
    "jwt": {"access/tokens.py"},
    "limits": {"api/gateway/rates.py"},
    "lmdb": {"featurestore/lmdb.py"},
    "redis": {"featurestore/redis_clients.py"},
    "obstore": {"serving/manager/files.py"},
    "onnxruntime": {"serving/runtime/quantised.py", "serving/runtime/vendor.py"},
    "confluent_kafka": {"inferlog/kafka.py"},
    "mmh3": {"inferlog/sampling.py"},
    "pyarrow": {
        "featurestore/exporter.py",
        "featurestore/tables.py",
        "inferlog/arrow.py",
        "scores.py",
    },
    "zstandard": {"inferlog/zstd.py"},
    "pandas": {"scores.py"},
    "yaml": {"plan/document.py", "plan/positions.py"},
}
"""vendor → the only files that may import it, and only when they are used."""

CORE = ("compute", "plan", "engine", "components")
PURE = ("compute", "plan")
"""Packages whose answers depend on their arguments alone."""


@functools.cache
def modules() -> list[tuple[str, ast.Module]]:
    return [
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text("utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module a file imports, wherever in it, except for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def imported_at_once(tree: ast.Module) -> set[str]:
    """What importing the file itself imports."""
    found: set[str] = set()
    for node in tree.body:
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            found |= _outside_functions(node)
    return found


def _outside_functions(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set(imported(node))
    return {name for child in ast.iter_child_nodes(node) for name in _outside_functions(child)}


@pytest.fixture(scope="module")
def linter_settings() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    settings: dict[str, Any] = project["tool"]["importlinter"]
    return settings


def test_the_import_contracts_are_kept() -> None:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))",
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_has_a_place_in_the_layers(linter_settings: dict[str, Any]) -> None:
    layers = next(c["layers"] for c in linter_settings["contracts"] if c["type"] == "layers")
    placed = {
        name.strip().removeprefix("inferflow.")
        for layer in layers
        for name in re.split(r"[|:]", layer)
    }
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages - placed - LAYERED_BY_NOBODY == set()


def test_nothing_imports_the_demo_or_the_test_kit_below_the_command_line() -> None:
    users = defaultdict(set)
    for path, tree in modules():
        for name in imported(tree):
            for kit in LAYERED_BY_NOBODY:
                if name == f"inferflow.{kit}" or name.startswith(f"inferflow.{kit}."):
                    users[kit].add(path.split("/")[0])
    assert users["testing"] <= {"testing"}
    assert users["demo"] <= {"demo", "app", "cli"}


@pytest.mark.parametrize("vendor", sorted(HOMES))
def test_each_vendor_has_one_home(vendor: str) -> None:
    users = {
        path
        for path, tree in modules()
        if any(name.partition(".")[0] == vendor for name in imported(tree))
    }
    assert users == HOMES[vendor]


def test_the_web_framework_stays_in_the_gateway() -> None:
    for path, tree in modules():
        names = {name.partition(".")[0] for name in imported(tree)}
        if not names.isdisjoint({"fastapi", "starlette", "uvicorn"}):
            assert path.startswith("api/gateway/"), path


def test_sql_stays_with_the_registrys_storage() -> None:
    for path, tree in modules():
        names = {name.partition(".")[0] for name in imported(tree)}
        if not names.isdisjoint({"sqlalchemy", "alembic", "aiosqlite", "asyncpg"}):
            assert path.startswith("serving/manager/storage/"), path


ON_USE = [
    "cryptography",
    "granian",
    "jwt",
    "limits",
    "lmdb",
    "obstore",
    "onnx",
    "onnxruntime",
    "pandas",
    "pyarrow",
    "redis",
]


@pytest.mark.parametrize("vendor", ON_USE)
def test_heavy_and_optional_vendors_are_imported_on_use(vendor: str) -> None:
    for path, tree in modules():
        names = {name.partition(".")[0] for name in imported_at_once(tree)}
        assert vendor not in names, f"{path} imports {vendor} when it is imported itself"


def test_the_core_knows_no_transport_and_no_wire() -> None:
    wires = {"inferflow.rpc", "inferflow._proto", "inferflow.access", "inferflow.api"}
    foreign = {"grpc", "google", "http", "socket", "urllib", "redis", "confluent_kafka"}
    for path, tree in modules():
        if path.split("/")[0] in CORE:
            for name in imported(tree):
                assert name.partition(".")[0] not in foreign, (path, name)
                assert ".".join(name.split(".")[:2]) not in wires, (path, name)


def test_what_decides_is_given_time_and_chance() -> None:
    for path, tree in modules():
        if path.split("/")[0] in PURE:
            for name in imported(tree):
                assert name.partition(".")[0] not in {"time", "random", "uuid", "secrets"}, path


def test_no_module_is_named_after_nothing() -> None:
    nameless = {"utils", "util", "helpers", "helper", "common", "base", "misc", "shared"}
    for path, _ in modules():
        assert nameless.isdisjoint(Path(path).with_suffix("").parts), path


def test_every_module_opens_with_its_idea() -> None:
    silent = [
        path
        for path, tree in modules()
        if tree.body and ast.get_docstring(tree) is None and not path.startswith("_proto/")
    ]
    assert silent in ([], ["_version.py"])
