"""Secrets at rest."""

from __future__ import annotations

import secrets

import pytest

from inferflow.access.sealing import Sealer
from inferflow.errors import RegistryFailed

SECRET = bytes(range(32))


def test_what_was_sealed_opens_under_the_same_secret_and_name() -> None:
    sealed = Sealer(SECRET).seal("k1", b"seed", secrets.token_bytes)
    assert b"seed" not in sealed
    assert Sealer(SECRET).open("k1", sealed) == b"seed"


@pytest.mark.parametrize("spoil", ["secret", "name", "bytes", "length"])
def test_anything_else_does_not_open(spoil: str) -> None:
    sealed = Sealer(SECRET).seal("k1", b"seed", secrets.token_bytes)
    sealer = Sealer(bytes(32) if spoil == "secret" else SECRET)
    name = "k2" if spoil == "name" else "k1"
    if spoil == "bytes":
        sealed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    if spoil == "length":
        sealed = sealed[:5]
    with pytest.raises(RegistryFailed, match="another secret, or is damaged"):
        sealer.open(name, sealed)
