"""Who may read features, and who may write them.

A caller names itself and shows its token beside the message. Tokens are kept as digests, and
compared in a time that tells nothing about them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from inferflow.errors import InvalidRequest, PermissionDenied, Unauthenticated
from inferflow.rpc.headers import FEATURE_CALLER, FEATURE_TOKEN

Right = Literal["read", "write"]
Metadata = Sequence[tuple[str, str | bytes]]

ANYBODY = "anybody"
"""The caller where nobody has to say who it is."""


@dataclass(frozen=True, slots=True)
class Caller:
    digests: tuple[bytes, ...]
    """Of its tokens; two while one replaces the other."""
    rights: frozenset[Right]


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class Callers:
    """Everybody who may call. With none at all, everybody may."""

    def __init__(self, known: Mapping[str, Caller]) -> None:
        self._known = dict(known)

    def __bool__(self) -> bool:
        return bool(self._known)

    def check(self, metadata: Metadata, right: Right) -> str:
        """Who calls. Raises InvalidRequest for a header that is missing, Unauthenticated for one
        that is wrong, PermissionDenied for what this caller may not do."""
        if not self._known:
            return ANYBODY
        name, token = (_header(metadata, header) for header in (FEATURE_CALLER, FEATURE_TOKEN))
        caller = self._known.get(name)
        shown = digest(token)
        if caller is None or not any(hmac.compare_digest(shown, each) for each in caller.digests):
            raise Unauthenticated(f"{FEATURE_CALLER} or {FEATURE_TOKEN} is wrong")
        if right not in caller.rights:
            raise PermissionDenied(f"{name!r} may not {right} features")
        return name


def _header(metadata: Metadata, name: str) -> str:
    for key, value in metadata:
        if key == name and value:
            return str(value)
    raise InvalidRequest(name, "this header is missing")
