"""What a caller shows to be let in: `authorization: Bearer …`."""

from __future__ import annotations

from collections.abc import Iterable

from inferflow.errors import Unauthenticated
from inferflow.rpc.headers import AUTHORIZATION

LONGEST = 8192
_SCHEME = "bearer "


def bearer(metadata: Iterable[tuple[str, str | bytes]] | None, *, what: str) -> str:
    """The text after `Bearer`. Raises Unauthenticated, echoing nothing of it."""
    shown = [value for name, value in metadata or () if name == AUTHORIZATION]
    if not shown:
        raise Unauthenticated(f"show {what}, as `{AUTHORIZATION}: Bearer …`")
    text = shown[0]
    is_bearer = isinstance(text, str) and text[: len(_SCHEME)].lower() == _SCHEME
    if len(shown) > 1 or not is_bearer or len(text) > LONGEST:
        raise Unauthenticated(f"{what} is shown once, as `{AUTHORIZATION}: Bearer …`")
    return str(text[len(_SCHEME) :]).strip()
