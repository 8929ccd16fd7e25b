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
    ├── TooManySockets        BUSY    as many sockets as allowed are open
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

from inferflow.errors.answering import (
    ComputeFailed,
    DeadlinePassed,
    EngineFault,
    RemoteFailed,
    StepFailed,
    Unreachable,
)
from inferflow.errors.callers import (
    Overloaded,
    PermissionDenied,
    RateLimited,
    TooManySockets,
    Unauthenticated,
)
from inferflow.errors.configs import Describable, GoldenFailed, PlanRejected, VersionConflict
from inferflow.errors.given import (
    BodyTooLarge,
    BodyTooSlow,
    CastFailed,
    ExpressionInvalid,
    InvalidInput,
    InvalidRequest,
    MissingExtra,
    NotFound,
    RowRejected,
    SchemaInvalid,
)
from inferflow.errors.models import ModelFailed, ModelUnavailable, ModelUnreadable, NoRoom
from inferflow.errors.root import Fault, InferflowError
from inferflow.errors.stores import (
    BackupFailed,
    ConfigStoreBusy,
    ConfigStoreFailed,
    RegistryBusy,
    RegistryConflict,
    RegistryFailed,
    StoreFailed,
    StoreUnreachable,
)

__all__ = [
    "BackupFailed",
    "BodyTooLarge",
    "BodyTooSlow",
    "CastFailed",
    "ComputeFailed",
    "ConfigStoreBusy",
    "ConfigStoreFailed",
    "DeadlinePassed",
    "Describable",
    "EngineFault",
    "ExpressionInvalid",
    "Fault",
    "GoldenFailed",
    "InferflowError",
    "InvalidInput",
    "InvalidRequest",
    "MissingExtra",
    "ModelFailed",
    "ModelUnavailable",
    "ModelUnreadable",
    "NoRoom",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "PlanRejected",
    "RateLimited",
    "RegistryBusy",
    "RegistryConflict",
    "RegistryFailed",
    "RemoteFailed",
    "RowRejected",
    "SchemaInvalid",
    "StepFailed",
    "StoreFailed",
    "StoreUnreachable",
    "TooManySockets",
    "Unauthenticated",
    "Unreachable",
    "VersionConflict",
]
