"""The few words an error is counted by, whatever was raised.

Prometheus gets who was at fault; StatsD gets the `error-type` values that dashboards made for
the documented metrics already know. Both are fixed sets, so an odd exception adds no series.
"""

from __future__ import annotations

from functools import lru_cache

from inferflow import errors

_TYPES: dict[type[BaseException], str] = {
    errors.DeadlinePassed: "deadline",
    errors.StoreFailed: "store",
    errors.ModelFailed: "model",
    errors.ModelUnreadable: "model",
    errors.ComputeFailed: "compute",
    errors.InvalidRequest: "invalid",
    errors.InvalidInput: "invalid",
    errors.NotFound: "missing",
}
CANCELLED = "cancelled"
UNEXPECTED = "unexpected"

ERROR_TYPES = (*dict.fromkeys(_TYPES.values()), CANCELLED, UNEXPECTED)

_UPSTREAM = {
    ("feature", "deadline"): "featurestore-api-request-timeout",
    ("feature", CANCELLED): "featurestore-api-request-cancelled",
    ("feature", UNEXPECTED): "feature-store-component-panic",
    ("model", "missing"): "predator-client-not-found",
}
_UPSTREAM_DEFAULT = {
    "feature": "featurestore-api-error",
    "model": "predator-api-error",
    "compute": "numerix-api-error",
}


@lru_cache(maxsize=256)
def error_type(failure: str) -> str:
    """One of ERROR_TYPES for the name of an exception class."""
    if failure in ("CancelledError", "GeneratorExit"):
        return CANCELLED
    found = _class_named(errors.InferflowError, failure)
    for parent in found.__mro__ if found else ():
        if parent in _TYPES:
            return _TYPES[parent]
    return UNEXPECTED


@lru_cache(maxsize=1024)
def upstream_error_type(kind: str, failure: str) -> str:
    """The documented `error-type` for a failure in a step of this kind."""
    own = error_type(failure)
    if own == "invalid" or kind not in _UPSTREAM_DEFAULT:
        return "invalid-component-config"
    return _UPSTREAM.get((kind, own), _UPSTREAM_DEFAULT[kind])


def _class_named(root: type[BaseException], name: str) -> type[BaseException] | None:
    if root.__name__ == name:
        return root
    for child in root.__subclasses__():
        found = _class_named(child, name)
        if found is not None:
            return found
    return None
