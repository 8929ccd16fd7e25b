"""Which arm of a model step answers a request.

By a stable hash of who asks, not by chance: a retried request meets the same model, and two
model steps of one config split the same users.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right

from inferflow.plan.plan import Routes


def bucket(key: str, salt: str) -> float:
    """A number in [0, 100) that depends on the key and the salt alone."""
    digest = hashlib.blake2b(
        key.encode("utf-8", "surrogateescape"), key=salt.encode()[:64], digest_size=8
    )
    return int.from_bytes(digest.digest(), "little") / 2**64 * 100.0


def choose_arm(routes: Routes | None, key: str) -> int:
    """Index of the arm whose share the key falls in; what is left goes to the last arm."""
    if routes is None:
        return 0
    return min(bisect_right(routes.bounds, bucket(key, routes.salt)), len(routes.bounds) - 1)
