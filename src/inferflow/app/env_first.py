"""Settings that the environment may overrule, whatever a file says."""

from __future__ import annotations

from pydantic import AliasChoices
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class EnvFirst(BaseSettings):
    """A table of settings: environment over what is given over defaults; unknown keys refused."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, case_sensitive=False, populate_by_name=True
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # the library's own signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def named(field: str, *environment: str) -> AliasChoices:
    """A setting's key in the file, then its variables; `INFERFLOW_<FIELD>` unless given."""
    return AliasChoices(field, *(environment or (f"INFERFLOW_{field.upper()}",)))
