"""The deployment files, read as a machine would read them, and the tools that check them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"
CHART = DEPLOY / "helm" / "inferflow"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?:(?P<kind>:?[-?])(?P<rest>[^}]*))?\}")


def tool(name: str) -> str:
    """A program of the development environment, or of this machine."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@dataclass(frozen=True)
class Entry:
    """What a container runs, and with which environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def interpolated(text: str, values: Mapping[str, str]) -> str:
    """`${NAME}`, `${NAME:-default}` and `${NAME:?why}`, as Compose fills them in."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match["name"], "")
        if value or match["kind"] is None:
            return value
        if match["kind"].endswith("?"):
            raise KeyError(f"{match['name']} must be set: {match['rest']}")
        return match["rest"]

    return _VARIABLE.sub(fill, text)


def compose(values: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(interpolated(COMPOSE.read_text("utf-8"), values))
    return found


def entrypoint() -> list[str]:
    """Of the image: its last stage's."""
    found = re.findall(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE.read_text("utf-8"), re.MULTILINE)
    read: list[str] = yaml.safe_load(found[-1])
    return read


def compose_entries(values: Mapping[str, str]) -> dict[str, Entry]:
    """Every service of our own image."""
    return {
        name: Entry(
            (*service.get("entrypoint", entrypoint()), *service["command"]),
            {key: str(value) for key, value in service["environment"].items()},
        )
        for name, service in compose(values)["services"].items()
        if service["image"].startswith("inferflow:")
    }


@cache
def rendered(*values: str, **settings: str) -> list[dict[str, Any]]:
    """The chart's objects, with these of its value files and these single values."""
    command = [tool("helm"), "template", "shop", str(CHART)]
    for name in values:
        command += ["--values", str(CHART / name)]
    for name, value in settings.items():
        command += ["--set", f"{name.replace('__', '.')}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def chart_entries(
    objects: list[dict[str, Any]], secret: Mapping[str, str], fields: Mapping[str, str]
) -> dict[str, Entry]:
    """Every container, its secrets and fields filled in as Kubernetes would."""
    entries = {}
    for deployment in of_kind(objects, "Deployment").values():
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        environment: dict[str, str] = {}
        for variable in container["env"]:
            value = variable.get("value")
            if value is None:
                (source,) = variable["valueFrom"].values()
                value = secret[source["key"]] if "key" in source else fields[source["fieldPath"]]
            for name in re.findall(r"\$\((\w+)\)", value):
                value = value.replace(f"$({name})", environment[name])
            environment[variable["name"]] = value
        entries[container["name"]] = Entry((*entrypoint(), *container["args"]), environment)
    return entries
