"""Models that cannot be loaded, kept in memory or run."""

from __future__ import annotations

from inferflow.errors.root import Fault, InferflowError


class ModelUnreadable(InferflowError):
    """A model file that cannot be loaded, and why."""

    fault = Fault.CALLER

    def __init__(self, model: str, why: str, hint: str = "") -> None:
        super().__init__(
            f"model {model!r} cannot be loaded: {why}" + (f" ({hint})" if hint else "")
        )
        self.model = model
        self.why = why
        self.hint = hint


class ModelUnavailable(InferflowError):
    """A model that this server cannot serve at the moment; another one may, or this one later."""

    fault = Fault.BUSY

    def __init__(self, model: str, why: str, *, retry_after_ms: int | None = None) -> None:
        """`retry_after_ms` is None where waiting alone does not help."""
        again = "" if retry_after_ms is None else f"; tried again in {retry_after_ms} ms"
        super().__init__(f"model {model!r} is not available: {why}{again}")
        self.model = model
        self.why = why
        self.retry_after_ms = retry_after_ms


class NoRoom(InferflowError):
    """A model does not fit into the memory that is left, and no idle one can make room."""

    fault = Fault.BUSY

    def __init__(self, model: str, needed_bytes: int, budget_bytes: int) -> None:
        mib = 1024 * 1024
        super().__init__(
            f"model {model!r} takes about {needed_bytes / mib:.1f} MiB, and the models in use "
            f"leave less than that of the {budget_bytes / mib:.1f} MiB there are"
        )
        self.model = model
        self.needed_bytes = needed_bytes
        self.budget_bytes = budget_bytes


class ModelFailed(InferflowError):
    """A loaded model failed while running."""

    def __init__(self, model: str, why: str) -> None:
        super().__init__(f"model {model!r} failed: {why}")
        self.model = model
        self.why = why
