"""Session tokens: short-lived proof that a manager sent a caller to some workers for one model.

A token is a JWT signed with Ed25519. It names the workers it may be shown to, the API key it was
made for, and one version of one model. The algorithm is fixed here and never taken from the token;
keys come from the ring only, whatever the token's header offers. The library checks the signature,
this module checks everything else, because time comes in as an argument.

Times are whole seconds. With leeway L a token is valid while `nbf - L <= now < exp + L`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferflow.access.signing import SigningKey
from inferflow.errors import MissingExtra, Unauthenticated

ALGORITHM = "EdDSA"
TYPE = "inferflow-session+jwt"
ISSUER = "inferflow"
LONGEST_TOKEN = 8192

_HEADERS = frozenset({"alg", "typ", "kid"})
_CLAIMS = ("iss", "sub", "aud", "jti", "iat", "nbf", "exp", "model", "version")


@dataclass(frozen=True, slots=True)
class TokenRules:
    """How long tokens live, and how far clocks may be apart."""

    ttl_s: int = 300
    leeway_s: int = 30
    max_ttl_s: int = 900
    """A token that claims to live longer is refused, whoever signed it."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says."""

    token_id: str
    key_id: str
    workers: tuple[str, ...]
    model: str
    version: str
    issued_s: int
    starts_s: int
    expires_s: int

    def is_current(self, now_s: float, rules: TokenRules) -> bool:
        return self.starts_s - rules.leeway_s <= now_s < self.expires_s + rules.leeway_s


def sign_token(claims: Claims, key: SigningKey) -> str:
    jwt = _library()
    payload = {
        "iss": ISSUER,
        "sub": claims.key_id,
        "aud": list(claims.workers),
        "jti": claims.token_id,
        "iat": claims.issued_s,
        "nbf": claims.starts_s,
        "exp": claims.expires_s,
        "model": claims.model,
        "version": claims.version,
    }
    headers = {"typ": TYPE, "kid": key.kid}
    return str(jwt.encode(payload, _private(key.seed), algorithm=ALGORITHM, headers=headers))


def read_token(token: str, keys: Mapping[str, Any], rules: TokenRules) -> Claims:
    """What a token says, when its signature and its form are right. Time is not looked at yet.

    `keys` are public keys by id, as `public_key` makes them. Raises Unauthenticated.
    """
    jwt = _library()
    if len(token) > LONGEST_TOKEN:
        raise Unauthenticated(f"a session token has at most {LONGEST_TOKEN} characters")
    try:
        header = jwt.get_unverified_header(token)
        key = _key_for(header, keys)
        # Times and audience are checked by us; the library has a clock of its own.
        unchecked = dict.fromkeys(("exp", "nbf", "iat", "aud", "iss", "sub", "jti"), False)
        options: Any = {f"verify_{name}": on for name, on in unchecked.items()}
        options |= {"verify_signature": True, "require": list(_CLAIMS)}
        payload = jwt.decode(token, key, algorithms=[ALGORITHM], options=options)
    except (jwt.PyJWTError, ValueError, RecursionError) as failed:
        raise Unauthenticated("the session token is not one of ours") from failed
    return _claims(payload, rules)


def public_key(raw: bytes) -> Any:
    """A verifying key in the form `read_token` takes."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError as missing:
        raise MissingExtra("worker", for_what="session tokens") from missing
    return Ed25519PublicKey.from_public_bytes(raw)


def _key_for(header: Mapping[str, Any], keys: Mapping[str, Any]) -> Any:
    if set(header) != _HEADERS or header["alg"] != ALGORITHM or header["typ"] != TYPE:
        raise Unauthenticated("the session token is not one of ours")
    kid = header["kid"]
    if not isinstance(kid, str) or kid not in keys:
        raise Unauthenticated("the session token is signed with a key that is not known here")
    return keys[kid]


def _claims(payload: Mapping[str, Any], rules: TokenRules) -> Claims:
    times = [payload[name] for name in ("iat", "nbf", "exp")]
    texts = [payload[name] for name in ("jti", "sub", "model", "version")]
    audience = payload["aud"]
    is_formed = (
        payload["iss"] == ISSUER
        and all(type(time) is int for time in times)
        and all(isinstance(text, str) and text for text in texts)
        and isinstance(audience, list)
        and bool(audience)
        and all(isinstance(worker, str) and worker for worker in audience)
    )
    if not is_formed:
        raise Unauthenticated("the session token lacks a claim, or has one of the wrong kind")
    issued, starts, expires = times
    if not issued <= starts < expires or expires - issued > rules.max_ttl_s:
        raise Unauthenticated("the session token claims times that no manager gives")
    token_id, key_id, model, version = texts
    return Claims(token_id, key_id, tuple(audience), model, version, issued, starts, expires)


def _private(seed: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)


def _library() -> Any:
    try:
        import jwt
    except ModuleNotFoundError as missing:
        raise MissingExtra("worker", for_what="session tokens") from missing
    return jwt
