"""Settings of the watch for drift, the `[drift]` table of `inferflow.toml`.

The environment wins over it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AliasChoices, Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Listed, Secret
from inferflow.telemetry.drift import DriftRule
from inferflow.telemetry.drift_observer import DriftObserver, DriftOptions
from inferflow.telemetry.drift_webhook import Webhook


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_DRIFT_{field.upper()}")


def _url(text: str) -> str:
    if text and not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is not a URL; write http://… or https://…")
    return text


class DriftSettings(EnvFirst):
    sample: Annotated[float, Field(ge=0, le=1)] = Field(0.0, validation_alias=_named("sample"))
    """The share of answers that is looked at, such as 0.05; nothing is watched at 0."""
    features: Listed = Field((), validation_alias=_named("features"))
    """Patterns of columns that models read and that are watched too (`user:profile:*`); scores of
    the answer are watched in any case."""
    window: Annotated[int, Field(ge=100)] = Field(1_000, validation_alias=_named("window"))
    """Values that are compared at a time, with as many that came first."""
    threshold: Annotated[float, Field(gt=0)] = Field(0.25, validation_alias=_named("threshold"))
    """The distance that counts (population stability index)."""
    windows: Count = Field(2, validation_alias=_named("windows"))
    """So many windows in a row must be as far away."""
    webhook: Annotated[str, AfterValidator(_url)] = Field("", validation_alias=_named("webhook"))
    """Who is told when drift begins and when it is over: a URL that takes a POST."""
    secret: Secret = Field(Secret(""), validation_alias=_named("secret"))
    """What messages to the webhook are signed with."""


def open_drift(table: DriftSettings) -> DriftObserver | None:
    """Watches from now on; None where nothing is watched."""
    if not table.sample:
        return None
    rule = DriftRule(table.window, table.threshold, table.windows)
    secret = table.secret.get_secret_value()
    webhook = Webhook(table.webhook, secret) if table.webhook else None
    return DriftObserver(DriftOptions(table.sample, table.features, rule, webhook))
