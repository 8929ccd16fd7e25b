"""Whom a manager names, when another manager knows more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from inferflow.access import OPERATOR
from inferflow.api.manager.discovery import DiscoveryService
from inferflow.api.manager.writing import declared
from inferflow.errors import NotFound


class Registry:
    """Does not have a model until it has looked again often enough."""

    def __init__(self, news: int) -> None:
        self.news = news
        self.asked = 0

    def find(self, by: Any, wanted: Any) -> Any:
        self.asked += 1
        raise NotFound("model", wanted.model)

    async def refresh(self) -> bool:
        self.news -= 1
        return self.news >= 0


@pytest.mark.parametrize(("news", "times"), [(0, 1), (1, 2), (5, 2)])
def test_what_is_not_found_is_looked_for_once_more_where_there_is_news(
    news: int, times: int
) -> None:
    registry = Registry(news)
    services: Any = SimpleNamespace(discovery=registry, live=registry)
    service = DiscoveryService(services, lambda: 0.0)
    with pytest.raises(NotFound, match="'m'"):
        asyncio.run(service._discover(OPERATOR, declared("DiscoverRequest")(model="m")))
    assert registry.asked == times
