"""Who may do what: API keys, permissions, rate limits and session tokens.

Used by every role and in need of none: nothing here reads a database, a file or a clock of its
own. Whoever holds the keys hands them in.

- `permissions`: what a key may do, and for which models
- `keys`: how a key looks, how it is kept, and what is known about one
- `keybook`: the keys in memory; who is calling, answered without a database
- `keyfile`: keys as a file of their own, where there is no manager
- `callers`: callers that show a name and a token
- `gate`: who is let in, and for what; what every server asks of every call
- `refusals`: how many were turned away, and why
- `rates`: how often one key may ask
- `guesses`: how often somebody may be wrong
- `sealing`: secrets at rest, readable only with the manager's own secret
- `signing`: Ed25519 keys, and which of them signs and verifies when
- `tokens`: session tokens: making them, and what a valid one says
- `verifier`: checks tokens offline, quickly the second time
- `revocation`: keys and tokens that are no longer accepted
"""

from inferflow.access.callers import CallerBook, NamedCaller, token_digest
from inferflow.access.gate import BookKeys, Credentials, Gate, KeySource, OpenGate
from inferflow.access.guesses import Guesses
from inferflow.access.keybook import KeyBook
from inferflow.access.keyfile import KeyFile, read_keys
from inferflow.access.keys import OPERATOR, KeyCard, KeyHasher, NewKey, StoredKey, mint_key
from inferflow.access.permissions import ModelPatterns, Permission
from inferflow.access.rates import KeyRates, RateLimit, TokenBucket
from inferflow.access.refusals import Refusals
from inferflow.access.revocation import Revocations
from inferflow.access.signing import SigningKey, VerifyingKey
from inferflow.access.tokens import Claims, TokenRules, sign_token
from inferflow.access.verifier import TokenVerifier

__all__ = [
    "OPERATOR",
    "BookKeys",
    "CallerBook",
    "Claims",
    "Credentials",
    "Gate",
    "Guesses",
    "KeyBook",
    "KeyCard",
    "KeyFile",
    "KeyHasher",
    "KeyRates",
    "KeySource",
    "ModelPatterns",
    "NamedCaller",
    "NewKey",
    "OpenGate",
    "Permission",
    "RateLimit",
    "Refusals",
    "Revocations",
    "SigningKey",
    "StoredKey",
    "TokenBucket",
    "TokenRules",
    "TokenVerifier",
    "VerifyingKey",
    "mint_key",
    "read_keys",
    "sign_token",
    "token_digest",
]
