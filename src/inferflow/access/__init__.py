"""Who may do what: API keys, permissions, rate limits and session tokens.

Used by every role and in need of none: nothing here reads a database, a file or a clock of its
own. Whoever holds the keys hands them in.

- `permissions`: what a key may do, and for which models
- `keys`: how a key looks, how it is kept, and what is known about one
- `keybook`: the keys in memory; who is calling, answered without a database
- `rates`: how often one key may ask
- `guesses`: how often somebody may be wrong
- `sealing`: secrets at rest, readable only with the manager's own secret
- `signing`: Ed25519 keys, and which of them signs and verifies when
- `tokens`: session tokens: making them, and what a valid one says
- `verifier`: checks tokens offline, quickly the second time
- `revocation`: keys and tokens that are no longer accepted
"""

from inferflow.access.guesses import Guesses
from inferflow.access.keybook import KeyBook
from inferflow.access.keys import OPERATOR, KeyCard, KeyHasher, NewKey, StoredKey, mint_key
from inferflow.access.permissions import ModelPatterns, Permission
from inferflow.access.rates import KeyRates, RateLimit, TokenBucket
from inferflow.access.revocation import Revocations
from inferflow.access.signing import SigningKey, VerifyingKey
from inferflow.access.tokens import Claims, TokenRules, sign_token
from inferflow.access.verifier import TokenVerifier

__all__ = [
    "OPERATOR",
    "Claims",
    "Guesses",
    "KeyBook",
    "KeyCard",
    "KeyHasher",
    "KeyRates",
    "ModelPatterns",
    "NewKey",
    "Permission",
    "RateLimit",
    "Revocations",
    "SigningKey",
    "StoredKey",
    "TokenBucket",
    "TokenRules",
    "TokenVerifier",
    "VerifyingKey",
    "mint_key",
    "sign_token",
]
