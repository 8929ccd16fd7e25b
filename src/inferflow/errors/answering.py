"""What goes wrong while a request is answered, here or at another server."""

from __future__ import annotations

from inferflow.errors.root import Fault, InferflowError


class StepFailed(InferflowError):
    """One step failed and its policy says the request fails with it."""

    def __init__(self, step: str, component: str, cause: BaseException, elapsed_ms: float) -> None:
        super().__init__(f"step {step!r} ({component}) failed after {elapsed_ms:.1f} ms: {cause}")
        self.step = step
        self.component = component
        self.cause = cause
        self.elapsed_ms = elapsed_ms
        self.fault = cause.fault if isinstance(cause, InferflowError) else Fault.OURS


class DeadlinePassed(InferflowError):
    """The time given was not enough."""

    fault = Fault.LATE

    def __init__(self, doing: str, budget_ms: float) -> None:
        super().__init__(f"{doing} did not finish within {budget_ms:.0f} ms")
        self.doing = doing
        self.budget_ms = budget_ms


class Unreachable(InferflowError):
    """No server answered. The same call may succeed a little later."""

    fault = Fault.BUSY

    def __init__(self, addresses: str, attempts: int, why: str) -> None:
        times = "once" if attempts == 1 else f"{attempts} times"
        tried = f"tried {times}" if attempts else "not tried again yet"
        super().__init__(f"no server answered at {addresses}, {tried}: {why}")
        self.addresses = addresses
        self.attempts = attempts
        self.why = why


class RemoteFailed(InferflowError):
    """A server failed, or answered with what cannot be understood. `status` is what it called
    it on the wire."""

    def __init__(self, status: str, what: str) -> None:
        super().__init__(f"the server answered {status}: {what}")
        self.status = status
        self.what = what


class ComputeFailed(InferflowError):
    """An expression met values it has no answer for, such as a zero divisor."""

    fault = Fault.CALLER

    def __init__(self, what: str, *, operations: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.operations = operations
        """Which operations had no answer (`division`), where that is the reason."""


class EngineFault(InferflowError):
    """A promise inside the engine was broken. Always a bug worth reporting."""
