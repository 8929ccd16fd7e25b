"""A config id that stands for several configs, each with a share of the requests (A/B).

    {"home": {"ab": {"ranker_v1": 80, "ranker_v2": 20}}}

Who meets which config is decided by a stable hash of who asks, salted by the id, or by `salt`
where that is written: two splits with one salt cut their users the same way. Shares are cut in
the order written, so moving a share from 80 to 90 moves those ten percent of users and no other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from inferflow.plan.plan import Routes
from inferflow.plan.problems import Problem, Problems, closest_hint
from inferflow.plan.spec import SHARE_ROUNDING

KEY = "ab"
_KEYS = (KEY, "salt")


@dataclass(frozen=True, slots=True)
class Split:
    config_id: str
    arms: tuple[str, ...]
    shares: tuple[float, ...]
    """Percent, one per arm."""
    salt: str

    @property
    def routes(self) -> Routes:
        return Routes(tuple(accumulate(self.shares)), self.salt)


def is_split(written: Any) -> bool:
    """Whether what is written under an id is a split, right or wrong."""
    return isinstance(written, Mapping) and KEY in written


def is_split_alone(document: Any) -> bool:
    """Whether a whole document is a split, and not a config that is called `ab`."""
    if not is_split(document) or any(key not in _KEYS for key in document):
        return False
    arms = document[KEY]
    return isinstance(arms, Mapping) and not any(isinstance(x, Mapping) for x in arms.values())


def read_split(config_id: str, written: Mapping[str, Any]) -> tuple[Split | None, Problems]:
    """The split, or everything that is wrong with how it is written."""
    problems = Problems()
    for key in written:
        if key not in _KEYS:
            problems.error(str(key), "unknown key of a split", closest_hint(str(key), _KEYS))
    salt = written.get("salt", config_id)
    if not isinstance(salt, str) or not salt:
        problems.error("salt", "a text is wanted")
    arms = written[KEY]
    if not isinstance(arms, Mapping) or not arms:
        problems.error(KEY, "an object of config ids and percentages is wanted")
        return None, problems
    for arm, share in arms.items():
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= 100:
            problems.error(f"{KEY}[{str(arm)!r}]", f"a percentage is wanted, not {share!r}")
    if problems:
        return None, problems
    total = sum(arms.values())
    if abs(total - 100) > SHARE_ROUNDING:
        problems.error(KEY, f"percentages add up to {total:g}, not to 100")
        return None, problems
    names = tuple(str(arm) for arm in arms)
    return Split(config_id, names, tuple(map(float, arms.values())), salt), problems


def arm_problems(
    split: Split, configs: Collection[str], splits: Collection[str]
) -> tuple[Problem, ...]:
    """Arms that no config answers, given the ids of all configs and of all splits."""
    problems = Problems()
    for arm in split.arms:
        where = f"{KEY}[{arm!r}]"
        if arm in splits:
            problems.error(where, "is a split itself", "name the configs it stands for")
        elif arm not in configs:
            problems.error(where, "there is no such config", closest_hint(arm, configs))
    return tuple(problems)
