"""Every setting with its value and where that comes from, as `inferflow settings` prints it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inferflow.app.settings_report import settings_report

Facts = dict[str, Any]


class ProjectSettings:
    """Implements `api.gateway.management.ports.SettingsPage`."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment

    async def settings(self) -> list[Facts]:
        report = await asyncio.to_thread(settings_report, self._root, self._environment)
        found = []
        for each in report:
            facts = each.as_dict()
            facts["environment"] = list(facts.pop("variables"))
            found.append(facts)
        return found
