"""Which arm answers a request: of a model step, or of an id that stands for several configs.

By a stable hash of who asks, not by chance: a retried request meets the same model, and two
model steps of one config split the same users.
"""

from __future__ import annotations

import hashlib
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from inferflow.dtypes.keytext import canonical_key
from inferflow.engine.request import ScoreRequest, routing_key
from inferflow.errors import InvalidInput
from inferflow.plan.book import Live, LiveSplit, PlanBook
from inferflow.plan.plan import Routes


def bucket(key: str, salt: str) -> float:
    """A number in [0, 100) that depends on the key and the salt alone."""
    digest = hashlib.blake2b(
        key.encode("utf-8", "surrogatepass"), key=salt.encode()[:64], digest_size=8
    )
    return int.from_bytes(digest.digest(), "little") / 2**64 * 100.0


def choose_arm(routes: Routes, key: str) -> int:
    """Index of the arm whose share the key falls in; what is left goes to the last arm."""
    return min(bisect_right(routes.bounds, bucket(key, routes.salt)), len(routes.bounds) - 1)


def pick(
    book: PlanBook[Live],
    request: ScoreRequest,
    *,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> tuple[Live, str]:
    """What serves a request, and the id of the arm it is when the request's id stands for
    several configs, else an empty text. Raises what `PlanBook.get` does."""
    if request.config_id not in book.splits:
        return book.get(request.config_id), ""
    return pick_arm(book.splits[request.config_id], request, new_id=new_id)


def pick_arm(
    live: LiveSplit[Live],
    request: ScoreRequest,
    *,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> tuple[Live, str]:
    """What serves one who asks, and its id."""
    key = routing_key(request, dict(_user_ids(request.entities))) or new_id()
    arm = choose_arm(live.split.routes, key)
    return live.arms[arm], live.split.arms[arm]


def _user_ids(entities: Any) -> Iterator[tuple[str, list[str]]]:
    """Single users of a request that nobody has checked yet. What is wrong with it, whoever
    scores it will say."""
    if isinstance(entities, Mapping):
        for name in ("user_id", "user"):
            given = entities.get(name)
            if isinstance(given, list | tuple):
                given = given[0] if len(given) == 1 else None
            try:
                yield name, [canonical_key(given)]
            except InvalidInput:
                continue
