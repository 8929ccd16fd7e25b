"""How versions of a model move between stages, and who gets its traffic. Pure decisions.

A model has one version in production, or none. A version that enters production sends the one
before it to the archive and ends any split of traffic. Weights may be given to versions in staging
and production; a version with weight stays where it is until the weights change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from inferflow.errors import InvalidInput, NotFound, RegistryConflict
from inferflow.serving.manager.storage.records import Model, Stage, Version

SERVED = (Stage.STAGING, Stage.PRODUCTION)
"""Stages whose versions may have a share of the traffic."""


@dataclass(frozen=True, slots=True)
class Move:
    number: int
    from_stage: Stage
    to_stage: Stage
    reason: str


def parse_stage(text: str, *, default: Stage) -> Stage:
    """A stage by its name. Raises InvalidInput."""
    if not text:
        return default
    try:
        return Stage(text)
    except ValueError:
        raise InvalidInput(f"stage: {text[:60]!r} is none of {', '.join(Stage)}") from None


def moves(
    model: Model, number: int, to: Stage, *, expected: Stage | None = None, reason: str = ""
) -> tuple[Move, ...]:
    """What has to move so that a version has a stage: itself last, and nothing if it is there.

    Raises NotFound, or RegistryConflict when the version is not where it is expected to be.
    """
    version = version_of(model, number)
    if expected is not None and version.stage is not expected:
        raise RegistryConflict(
            f"model {model.name!r} version {number} is in {version.stage.value!r}, "
            f"not in {expected.value!r}; look at its history, then ask again"
        )
    if version.stage is to:
        return ()
    if to not in SERVED and number in model.traffic:
        raise _has_traffic(model, number)
    if to is Stage.PRODUCTION and version.problem:
        raise RegistryConflict(
            f"model {model.name!r} version {number} cannot be served: {version.problem}"
        )
    own = Move(number, version.stage, to, reason)
    before = model.production()
    if to is not Stage.PRODUCTION or before is None:
        return (own,)
    replaced = Move(before.number, before.stage, Stage.ARCHIVED, f"replaced by version {number}")
    return (replaced, own)


def check_traffic(model: Model, traffic: Mapping[int, float]) -> None:
    """Raises InvalidInput or RegistryConflict unless these weights may be given."""
    for number, percent in traffic.items():
        if not (math.isfinite(percent) and 0 < percent <= 100):
            raise InvalidInput(f"traffic[{number}]: {percent:g} is not a share above 0 up to 100")
        version = version_of(model, number)
        if version.stage not in SERVED or version.problem:
            state = version.problem or f"in {version.stage.value!r}"
            raise RegistryConflict(
                f"model {model.name!r} version {number} cannot have traffic: it is {state}"
            )
    total = math.fsum(traffic.values())
    if traffic and abs(total - 100) > 1e-6:
        raise InvalidInput(f"traffic: the shares make {total:g}, not 100")


def check_deletable(model: Model, number: int) -> Version:
    """The version, when nobody depends on it. Raises NotFound or RegistryConflict."""
    version = version_of(model, number)
    if number in model.traffic:
        raise _has_traffic(model, number)
    if version.stage is Stage.PRODUCTION:
        raise RegistryConflict(
            f"model {model.name!r} version {number} is in production; archive it first"
        )
    return version


def choices(model: Model, *, number: int | None, stage: Stage | None) -> dict[int, float]:
    """Versions a caller may be sent to, with their shares: the one it names, or those of a stage.

    Production means the split of traffic where there is one; in other stages the highest version
    stands for all. Raises NotFound.
    """
    if number is not None:
        version = version_of(model, number)
        if stage not in (None, version.stage):
            raise NotFound(f"model in {stage}", f"{model.name}@{number}")
        return {version.number: 100.0}
    wanted = stage or Stage.PRODUCTION
    if wanted is Stage.PRODUCTION and model.traffic:
        return dict(model.traffic)
    found = [version.number for version in model.versions if version.stage is wanted]
    if not found:
        raise NotFound(f"version in {wanted.value} of model", model.name)
    return {max(found): 100.0}


def version_of(model: Model, number: int) -> Version:
    found = next((v for v in model.versions if v.number == number), None)
    if found is None:
        highest = model.versions[-1].number
        raise NotFound("model", f"{model.name}@{number}", nearest=f"{model.name}@{highest}")
    return found


def _has_traffic(model: Model, number: int) -> RegistryConflict:
    return RegistryConflict(
        f"model {model.name!r} version {number} has {model.traffic[number]:g} % of the traffic; "
        "change the traffic first"
    )
