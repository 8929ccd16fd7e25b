"""What a caller shows to be let in: `authorization: Bearer …`, or a name and a token in headers
of their own, as clients of the original send them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from inferflow.access import Credentials
from inferflow.api.insight import peer_host
from inferflow.errors import InvalidRequest, Unauthenticated
from inferflow.rpc.headers import (
    AUTHORIZATION,
    FEATURE_CALLER,
    FEATURE_TOKEN,
    INFERFLOW_CALLER,
    INFERFLOW_TOKEN,
    NUMERIX_CALLER,
    NUMERIX_TOKEN,
    PREDATOR_CALLER,
    PREDATOR_TOKEN,
)

LONGEST = 8192
_SCHEME = "bearer "

Metadata = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class TokenHeaders:
    """Where a service's clients say who they are."""

    caller: str
    token: str
    are_demanded: bool = False
    """Whether a missing one is the request's fault, and not the caller's."""


_OURS = TokenHeaders(INFERFLOW_CALLER, INFERFLOW_TOKEN)
_FEATURES = TokenHeaders(FEATURE_CALLER, FEATURE_TOKEN, are_demanded=True)
_BY_SERVICE = {
    "retrieve.FeatureService": _FEATURES,
    "persist.FeatureService": _FEATURES,
    "numerix.Numerix": TokenHeaders(NUMERIX_CALLER, NUMERIX_TOKEN),
    "inference.GRPCInferenceService": TokenHeaders(PREDATOR_CALLER, PREDATOR_TOKEN),
}


def token_headers(path: str) -> TokenHeaders:
    """Those of the service that a call's path names."""
    return _BY_SERVICE.get(path.split("/")[1], _OURS)


def bearer(metadata: Metadata | None, *, what: str) -> str:
    """The text after `Bearer`. Raises Unauthenticated, echoing nothing of it."""
    shown = [value for name, value in metadata or () if name == AUTHORIZATION]
    if not shown:
        raise Unauthenticated(f"show {what}, as `{AUTHORIZATION}: Bearer …`")
    return _after_scheme(shown, what)


def _after_scheme(shown: list[str | bytes], what: str) -> str:
    text = shown[0]
    is_bearer = isinstance(text, str) and text[: len(_SCHEME)].lower() == _SCHEME
    if len(shown) > 1 or not is_bearer or len(text) > LONGEST:
        raise Unauthenticated(f"{what} is shown once, as `{AUTHORIZATION}: Bearer …`")
    return str(text[len(_SCHEME) :]).strip()


def credentials_of(context: Any, headers: TokenHeaders, *, with_certificate: bool) -> Credentials:
    """What came beside a call. Raises Unauthenticated for what cannot be a key, and
    InvalidRequest where a service demands headers that are missing."""
    keys: list[str | bytes] = []
    caller = token = ""
    for name, value in context.invocation_metadata() or ():
        if name == AUTHORIZATION:
            keys.append(value)
        elif name == headers.caller:
            caller = str(value)
        elif name == headers.token:
            token = str(value)
    source = peer_host(context.peer())
    if keys:
        return Credentials(_after_scheme(keys, "an API key"), source=source)
    if caller and token:
        return Credentials(caller=caller, token=token, source=source)
    names = _certificate_names(context) if with_certificate else ()
    if headers.are_demanded and not names:
        raise InvalidRequest(headers.token if caller else headers.caller, "this header is missing")
    return Credentials(caller=caller, token=token, certificate=names, source=source)


def _certificate_names(context: Any) -> tuple[str, ...]:
    """Names of the certificate that gRPC has verified, most telling first."""
    known = context.auth_context()
    fields = ("x509_subject_alternative_name", "x509_common_name")
    return tuple(name.decode() for field in fields for name in known.get(field, ()))
