"""Who may call, the `[auth]` table of `inferflow.toml`; the environment wins over it.

Whether callers are asked at all is said by `auth` in the table of each role.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from inferflow.access.permissions import ModelPatterns, Permission
from inferflow.access.rates import RateLimit
from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Listed, Secret
from inferflow.errors import InvalidInput

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def _granted(value: object) -> object:
    """Permissions alone are a grant, too."""
    if isinstance(value, str | list | tuple):
        return {"permissions": value}
    return value


class Grant(BaseModel):
    """What somebody may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    permissions: Annotated[Listed, Field(min_length=1)]
    models: Listed = ()
    per_second: Annotated[float, Field(gt=0)] | None = None
    burst: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _can_be_granted(self) -> Grant:
        known = ", ".join(Permission)
        for name in self.permissions:
            if name not in frozenset(Permission):
                raise ValueError(f"{name!r} is no permission; there are {known}")
        try:
            ModelPatterns(self.models)
        except InvalidInput as wrong:
            raise ValueError(str(wrong)) from None
        return self

    @property
    def rate(self) -> RateLimit | None:
        if self.per_second is None:
            return None
        return RateLimit(self.per_second, self.burst or max(1, round(self.per_second)))


class TokenGrant(Grant):
    """What a caller may do that shows a name and a token."""

    token: Secret | None = None
    sha256: Listed = ()

    @model_validator(mode="after")
    def _has_proof(self) -> TokenGrant:
        if self.token is None and not self.sha256:
            raise ValueError("a caller needs a token, or the sha256 of one")
        if self.token is not None and not self.token.get_secret_value():
            raise ValueError("a token cannot be empty")
        for each in self.sha256:
            if not _SHA256.fullmatch(each):
                raise ValueError("sha256: 64 hexadecimal digits are wanted")
        return self


class AuthSettings(EnvFirst):
    keys_file: str = Field("", validation_alias=named("keys_file"))
    """A file of API keys that `inferflow keys create --file` makes, relative to the project; read
    again when it changes."""
    manager: bool = Field(False, validation_alias=named("manager", "INFERFLOW_AUTH_MANAGER"))
    """API keys of a fleet are good here: its managers (`[fleet]`) are asked, with this process's
    own key, which needs the permission `worker`."""
    callers: dict[str, TokenGrant] = Field(default_factory=dict)
    """Callers that show an id and a token (`inferflow-caller-id`, `inferflow-auth-token`), by id:
    `token` or `sha256` (of the token; two while one replaces the other), `permissions`, and if
    need be `models`, `per_second` and `burst`."""
    certificates: dict[str, Annotated[Grant, BeforeValidator(_granted)]] = Field(
        default_factory=dict
    )
    """Callers known by the certificate they connect with, by a name in it (a URI such as
    `spiffe://shop/web`, a host, or the common name): a list of permissions, or a table with
    `permissions`, `models`, `per_second` and `burst`."""

    @property
    def is_empty(self) -> bool:
        return not (self.keys_file or self.manager or self.callers or self.certificates)

    @property
    def has_certificates_alone(self) -> bool:
        others = self.keys_file or self.manager or self.callers
        return bool(self.certificates) and not others

    def placed(self, root: Path) -> AuthSettings:
        """The same with a path that does not depend on where this process runs."""
        if not self.keys_file:
            return self
        return self.model_copy(update={"keys_file": str((root / self.keys_file).absolute())})
