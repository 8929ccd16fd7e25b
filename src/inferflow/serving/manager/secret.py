"""The one secret a manager has outside its database.

API keys are kept as HMACs under it and signing keys are sealed with it, so a copy of the database
alone opens nothing. All managers of one database share it; the database remembers a fingerprint,
and a manager that comes with another secret is told so instead of refusing every key.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from inferflow.errors import InvalidInput, RegistryFailed
from inferflow.serving.manager.storage import Storage

SECRET_BYTES = 32

_FINGERPRINT = "secret fingerprint"


def load_secret(file: Path, random_bytes: Callable[[int], bytes]) -> bytes:
    """The secret in a file, which is made with a new one when it is not there."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _make(file, random_bytes(SECRET_BYTES))
        return parse_secret(file.read_text("ascii"), str(file))
    except OSError as failed:
        why = failed.strerror or failed
        raise RegistryFailed(f"the secret {file} cannot be read or made: {why}") from failed
    except UnicodeDecodeError as failed:
        raise InvalidInput(f"{file}: a manager's secret is hexadecimal text") from failed


def _make(file: Path, secret: bytes) -> None:
    """All at once, so that managers that start together end up with the same one."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".secret-") as made:
        made.write(secret.hex() + "\n")
        made.flush()
        with contextlib.suppress(FileExistsError):
            os.link(made.name, file)


def parse_secret(text: str, where: str) -> bytes:
    """A secret as it is written: 32 bytes or more in hexadecimal. Raises InvalidInput."""
    try:
        read = bytes.fromhex(text.strip())
    except ValueError:
        read = b""
    if len(read) < SECRET_BYTES:
        raise InvalidInput(
            f"{where}: a manager's secret is at least {SECRET_BYTES} bytes in hexadecimal; "
            "`openssl rand -hex 32` makes one"
        )
    return read


async def claim_with_secret(storage: Storage, secret: bytes) -> None:
    """Make sure that a database and a secret belong together. Raises RegistryFailed."""
    fingerprint = hmac.digest(secret, b"inferflow fingerprint v1", "sha256").hex()
    async with storage.writing(quietly=True) as tx:
        known = await tx.facts.get(_FINGERPRINT)
        if known is None:
            await tx.facts.set(_FINGERPRINT, fingerprint)
        elif not hmac.compare_digest(known, fingerprint):
            raise RegistryFailed(
                "the registry was set up with another secret; with this one none of its keys "
                "would work. Give the manager the secret it had"
            )
