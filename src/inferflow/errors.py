"""What can go wrong, by who has to act.

    InferflowError
    ├── InvalidRequest        CALLER  the request names or carries something that cannot be
    │   ├── BodyTooLarge              it has more bytes than are allowed
    │   └── BodyTooSlow               the rest of it did not come in time
    ├── InvalidInput          CALLER  a file, a value or an argument is not what it should be
    │   ├── CastFailed                a value cannot become the type asked for
    │   ├── SchemaInvalid             features/schema.yaml says something impossible
    │   ├── RowRejected               one row of an import, with its number
    │   └── ExpressionInvalid         an expression that does not parse or check
    ├── PlanRejected          CALLER  a config with problems; carries all of them
    ├── GoldenFailed          CALLER  a config that does not give the answers its requests expect
    ├── VersionConflict       CALLER  a push that expected another version than the one there is
    ├── NotFound              ABSENT  the named thing is not here
    ├── MissingExtra          CALLER  an optional dependency is not installed
    ├── Unauthenticated       CALLER  the caller did not prove who it is
    ├── PermissionDenied      CALLER  the caller is known, and may not do this
    ├── RateLimited           BUSY    somebody asks more often than they may
    ├── RegistryConflict      CALLER  the registry is not as the call expects it to be
    ├── RegistryFailed        OURS    the registry's database or files could not be used
    ├── RegistryBusy          BUSY    the registry's database is taken or away for the moment
    ├── StepFailed            (cause) one step of a request failed, and its policy is `fail`
    ├── DeadlinePassed        LATE    the time given was not enough
    ├── Overloaded            BUSY    as many calls as allowed are under way
    ├── Unreachable           BUSY    no server answered, at any address that was tried
    ├── RemoteFailed          OURS    a server failed, or answered with what cannot be understood
    ├── StoreFailed           OURS    the feature store could not answer or write
    │   └── StoreUnreachable  BUSY    it is away, or does not answer in time
    ├── ConfigStoreFailed     OURS    the config store could not be read or written
    ├── ConfigStoreBusy       BUSY    another process is writing configs and takes long
    ├── BackupFailed          OURS    a backup could not be written, or not be put back
    ├── ModelUnreadable       CALLER  a model file that cannot be loaded, and why
    ├── ModelUnavailable      BUSY    a model that this server cannot serve at the moment
    ├── NoRoom                BUSY    a model does not fit into the memory that is left
    ├── ModelFailed           OURS    a loaded model failed while running
    ├── ComputeFailed         CALLER  an expression met a value it has no answer for
    └── EngineFault           OURS    a promise inside the engine was broken

No status codes here: the edge that talks to a caller picks the code from `fault`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol


class Fault(enum.Enum):
    """Who has to act."""

    CALLER = "caller"
    """Fix the request, the config or the file."""
    ABSENT = "absent"
    """The named thing is not here."""
    BUSY = "busy"
    """The same call may succeed elsewhere or later."""
    LATE = "late"
    """The deadline passed first."""
    OURS = "ours"
    """A bug, or a dependency that broke its promise."""


class InferflowError(Exception):
    """The root of everything Inferflow raises on purpose."""

    fault = Fault.OURS
    recording = ""
    """Under which id a server keeps what happened, when it was asked to."""


class InvalidRequest(InferflowError):
    """A request that cannot be scored. `field` is the place in it."""

    fault = Fault.CALLER

    def __init__(self, field: str, what: str, hint: str = "") -> None:
        super().__init__(f"{field}: {what}" + (f" ({hint})" if hint else ""))
        self.field = field
        self.what = what
        self.hint = hint


class BodyTooLarge(InvalidRequest):
    """A request of more bytes than are allowed."""


class BodyTooSlow(InvalidRequest):
    """A request whose rest did not come in time."""


class InvalidInput(InferflowError):
    """A file, an argument or a value that is not what it should be."""

    fault = Fault.CALLER


class CastFailed(InvalidInput):
    """A value that has no form in the type asked for. `position` is its row."""

    def __init__(self, what: str, *, position: int | None = None) -> None:
        super().__init__(what if position is None else f"{what} (at position {position})")
        self.what = what
        self.position = position


class SchemaInvalid(InvalidInput):
    """A feature schema that says something impossible. Carries every problem found."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        super().__init__(f"{where}: " + "; ".join(problems))
        self.where = where
        self.problems = tuple(problems)


class RowRejected(InvalidInput):
    """One row of an import that does not fit the schema. Nothing of the import was applied."""

    def __init__(self, source: str, row: int, what: str) -> None:
        super().__init__(f"{source}, row {row}: {what}")
        self.source = source
        self.row = row
        self.what = what


class ExpressionInvalid(InvalidInput):
    """An expression that does not parse or check. `position` is the character it stopped at."""

    def __init__(self, what: str, *, position: int | None = None, hint: str = "") -> None:
        super().__init__(what + (f" ({hint})" if hint else ""))
        self.what = what
        self.position = position
        self.hint = hint


class Describable(Protocol):
    """Anything that prints itself on one line, such as a plan's Problem."""

    def __str__(self) -> str: ...


class PlanRejected(InferflowError):
    """A config that cannot become a plan, with everything that is wrong with it."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, problems: Sequence[Describable]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"config {config_id!r} has {len(problems)} problem(s):{listed}")
        self.config_id = config_id
        self.problems = tuple(problems)


class GoldenFailed(InferflowError):
    """A config that compiles, but does not give the answers its golden requests expect."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, differences: Sequence[Describable]) -> None:
        listed = "".join(f"\n  {difference}" for difference in differences)
        super().__init__(
            f"config {config_id!r} fails {len(differences)} golden request(s), "
            f"and was not pushed:{listed}"
        )
        self.config_id = config_id
        self.differences = tuple(differences)


class VersionConflict(InferflowError):
    """Somebody else was first. The same push will never succeed: its author has to look at what
    is there now, and decide. That is why the fault is the caller's, and not "busy"."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, expected: str, actual: str, current: int = 0) -> None:
        super().__init__(
            f"config {config_id!r}: expected {expected}, but there is {actual}; "
            "look at the difference, then push with the version you have seen"
        )
        self.config_id = config_id
        self.expected = expected
        self.actual = actual
        self.current = current
        """The newest version's number; 0 when there is none."""


class NotFound(InferflowError):
    """The named thing is not here. `nearest` is what may have been meant."""

    fault = Fault.ABSENT

    def __init__(self, kind: str, name: str, *, nearest: str = "") -> None:
        super().__init__(
            f"no {kind} {name!r}" + (f"; did you mean {nearest!r}?" if nearest else "")
        )
        self.kind = kind
        self.name = name
        self.nearest = nearest


class MissingExtra(InferflowError):
    """An optional dependency is not installed; says which command installs it."""

    fault = Fault.CALLER

    def __init__(self, extra: str, *, for_what: str) -> None:
        super().__init__(f"{for_what} needs: pip install 'inferflow[{extra}]'")
        self.extra = extra


class Unauthenticated(InferflowError):
    """The caller did not prove who it is. Says as little as is needed to put it right."""

    fault = Fault.CALLER


class PermissionDenied(InferflowError):
    """The caller is known, and may not do this."""

    fault = Fault.CALLER


class RateLimited(InferflowError):
    """Somebody asks more often than they may. Others are not held up by it."""

    fault = Fault.BUSY

    def __init__(self, who: str, *, retry_after_ms: int) -> None:
        super().__init__(f"{who} asks more often than allowed; try again in {retry_after_ms} ms")
        self.who = who
        self.retry_after_ms = retry_after_ms


class RegistryConflict(InferflowError):
    """The registry is not as the call expects it to be. Nothing was changed; repeating the
    call does not help until somebody has looked."""

    fault = Fault.CALLER


class RegistryFailed(InferflowError):
    """The registry's database or model files could not be used. Nothing was half-applied."""


class RegistryBusy(InferflowError):
    """The registry's database is taken or away for the moment. Nothing was changed."""

    fault = Fault.BUSY


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


class Overloaded(InferflowError):
    """As many calls as allowed are under way. The same call may be made again a little later."""

    fault = Fault.BUSY

    def __init__(self, limit: int | None, *, retry_after_ms: int) -> None:
        """`limit` is None where only the server knows it."""
        places = "all places" if limit is None else f"all {limit} places"
        super().__init__(f"{places} are taken; try again in {retry_after_ms} ms")
        self.limit = limit
        self.retry_after_ms = retry_after_ms


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


class StoreFailed(InferflowError):
    """The feature store could not answer or write. Nothing was half-applied."""


class StoreUnreachable(StoreFailed):
    """The feature store is away or does not answer. The same call may succeed a little later."""

    fault = Fault.BUSY


class ConfigStoreFailed(InferflowError):
    """The config store could not be read or written. No version was half-applied."""


class ConfigStoreBusy(InferflowError):
    """Another process is writing configs and takes long. Nothing was changed."""

    fault = Fault.BUSY


class BackupFailed(InferflowError):
    """A backup that could not be written, or not be put back. What was there before still is."""


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


class ComputeFailed(InferflowError):
    """An expression met values it has no answer for, such as a zero divisor."""

    fault = Fault.CALLER

    def __init__(self, what: str, *, operations: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.operations = operations
        """Which operations had no answer (`division`), where that is the reason."""


class EngineFault(InferflowError):
    """A promise inside the engine was broken. Always a bug worth reporting."""
