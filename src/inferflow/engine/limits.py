"""How large a request may be. Every limit is reported by its name when it is exceeded."""

from __future__ import annotations

from dataclasses import dataclass

from inferflow.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Limits:
    targets: int = 10_000
    pairs: int = 100_000
    slates: int = 1_000
    slate_size: int = 1_000
    id_bytes: int = 512
    features: int = 256

    def check(self, name: str, got: int, field: str) -> None:
        """Refuse a request that is larger than the limit of this name, called as in settings."""
        allowed = getattr(self, name)
        if got > allowed:
            raise InvalidRequest(field, f"{got} is more than the limit max_{name}={allowed}")
