"""Routes of configs: read, validate, check, publish, compare, roll back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request

from inferflow.api.gateway.management import config_shapes as shapes
from inferflow.api.gateway.management.having import allowed, author_of, having
from inferflow.api.gateway.management.ports import BackOffice, Configs, Facts, Text
from inferflow.api.gateway.management.rejecting import rejecting

Number = Annotated[int, Query(ge=1)]
Having = Callable[[], Configs]


def configs_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1/configs", tags=["configs"])

    def part() -> Configs:
        return having(office.configs, "configs")

    _reading(router, part)
    _trying(router, part)
    _changing(router, part)
    return router


def _reading(router: APIRouter, part: Having) -> None:
    @router.get("", response_model=shapes.ConfigList)
    async def list_configs(request: Request) -> Facts:
        """Every config and how it stands with those who serve it."""
        return {"configs": allowed(request, await part().statuses(), "id")}

    @router.get("/{config_id}", response_model=shapes.ConfigText)
    async def get_config(config_id: str) -> Facts:
        """A config as it is written now."""
        return await part().get(config_id)

    @router.get("/{config_id}/plan", response_model=shapes.PlanDocument)
    async def get_plan(config_id: str) -> Facts:
        """The plan that serves: steps, columns, and who reads which."""
        return await part().plan(config_id)

    @router.get("/{config_id}/history", response_model=shapes.ConfigHistory)
    async def config_history(config_id: str) -> Facts:
        """Every version, newest first."""
        return {"versions": await part().history(config_id)}

    @router.get("/{config_id}/versions/{number}", response_model=shapes.VersionText)
    async def config_version(config_id: str, number: int) -> Facts:
        """What a version said."""
        return await part().version(config_id, number)

    @router.get("/{config_id}/diff", response_model=shapes.ConfigDifference)
    async def config_difference(
        config_id: str, old: Annotated[int, Query(alias="from", ge=1)], to: Number
    ) -> Facts:
        """How two versions differ, as a unified diff."""
        return await part().difference(config_id, old, to)


def _trying(router: APIRouter, part: Having) -> None:
    @router.post("/validate", response_model=shapes.Validated)
    async def validate_config(body: shapes.ValidateBody) -> Facts:
        """Everything that is wrong with a text, with its place. Nothing is written."""
        return await part().validate(Text(body.text, body.format), body.id)

    @router.post("/{config_id}/check", response_model=shapes.CheckedConfig)
    async def check_config(config_id: str, body: shapes.ConfigBody) -> Facts:
        """What publishing would meet: problems, golden requests, and the difference."""
        return await part().check(config_id, Text(body.text, body.format))


def _changing(router: APIRouter, part: Having) -> None:
    @router.put("/{config_id}", response_model=shapes.PublishedConfig, responses=shapes.REFUSALS)
    async def publish_config(config_id: str, body: shapes.PublishBody, request: Request) -> Facts:
        """Check a text and make it the newest version. Nothing is changed when it is refused."""
        with rejecting():
            return await part().publish(
                config_id,
                Text(body.text, body.format),
                author=author_of(request),
                expected=body.expected_version,
                note=body.note,
                force=body.force,
            )

    @router.post(
        "/{config_id}/rollback",
        response_model=shapes.PublishedConfig,
        responses=shapes.REFUSALS,
    )
    async def roll_back_config(
        config_id: str, body: shapes.RollbackBody, request: Request
    ) -> Facts:
        """Make an earlier version the newest again."""
        with rejecting():
            return await part().roll_back(
                config_id,
                author=author_of(request),
                to=body.to,
                expected=body.expected_version,
            )
