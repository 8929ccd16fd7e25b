"""Settings of a worker, the `[worker]` table of `inferflow.toml`; the environment wins over it.

How models are loaded and batched may be said for all of them, and otherwise for one of them in
a table of its own, `[worker.models.<name>]`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from inferflow.app.env_first import EnvFirst, Unit, named
from inferflow.app.setting_values import (
    MIB,
    Count,
    Listed,
    MaybeMilliseconds,
    Mebibytes,
    Milliseconds,
    Port,
)
from inferflow.errors import InvalidInput
from inferflow.serving.manager.names import PREFETCH
from inferflow.serving.runtime.port import LoadOptions, Optimise
from inferflow.serving.worker import BatchRules, HostPolicy, ModelPlan

Threads = Annotated[int, Field(ge=0)]
Sizes = Annotated[
    tuple[Count, ...],
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
]
"""A list, or text with commas between."""


class ModelTable(BaseModel):
    """What is different for one model; what is left out is as for all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_batch: Count | None = None
    max_delay: Milliseconds | None = None
    preferred_batch: Sizes | None = None
    queue_limit: Count | None = None
    queue_timeout: MaybeMilliseconds = None
    optimise: Optimise | None = None
    quantise: bool | None = None
    intra_threads: Threads | None = None
    inter_threads: Threads | None = None
    providers: Listed | None = None
    device: Annotated[int, Field(ge=0)] | None = None
    device_memory_mb: Count | None = None


def serving_options(options: Mapping[str, object]) -> ModelTable:
    """Options that a version was published with. Raises InvalidInput."""
    try:
        return ModelTable.model_validate(
            {name: value for name, value in options.items() if name != PREFETCH}
        )
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        known = ", ".join((PREFETCH, *ModelTable.model_fields))
        raise InvalidInput(f"options: {where}: {first['msg']}; there are {known}") from invalid


def _usable_cores() -> int:
    """Those this process may run on, which in a container are often fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_WORKER_{field.upper()}")


class WorkerSettings(EnvFirst):
    bind: str = Field("127.0.0.1", validation_alias=_named("bind"))
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` asks nobody who they are, whoever can reach it. `on`: callers are asked as soon as
    `[auth]` knows any; without, only this machine can call."""
    port: Port = Field(8001, validation_alias=_named("port"))
    """gRPC. 0 takes any free port."""
    http_port: Port = Field(8002, validation_alias=_named("http_port"))
    """Health and metrics over HTTP. 0 takes any free port."""
    reflection: bool | None = Field(None, validation_alias=_named("reflection"))
    """gRPC server reflection; unset means only when bound to this machine."""
    default_deadline: Milliseconds = Field(
        10_000, gt=0, validation_alias=_named("default_deadline")
    )
    """For callers that name no deadline."""
    max_deadline: Milliseconds = Field(60_000, gt=0, validation_alias=_named("max_deadline"))
    """Longer ones are cut to this."""
    max_in_flight: Count = Field(1_024, validation_alias=_named("max_in_flight"))
    """Requests under way at once; the surplus is told to come back."""
    max_message_mb: Annotated[Mebibytes, Field(le=2047)] = Field(
        64, validation_alias=_named("max_message_mb")
    )
    """Largest request."""
    drain_pause: Milliseconds = Field(2_000, validation_alias=_named("drain_pause"))
    """After saying it is leaving, before it stops taking calls."""
    drain_grace: Milliseconds = Field(30_000, validation_alias=_named("drain_grace"))
    """For calls under way to finish."""
    worker_id: str = Field("", validation_alias=named("worker_id", "INFERFLOW_WORKER_ID"))
    """Its name in a fleet, the same over restarts; made of host name and port when empty."""
    advertise: str = Field("", validation_alias=_named("advertise"))
    """`host:port` under which clients of a fleet reach it; where it listens when empty."""
    models_dir: str = Field("models", validation_alias=_named("models_dir"))
    """The models, `<model>/<version>/model.onnx`; relative to the project."""
    prefetch: Listed = Field((), validation_alias=_named("prefetch"))
    """Models to load at the start, as `name` or `name@version`; others load when first used."""
    threads: Count | None = Field(None, validation_alias=_named("threads"))
    """Model runs that may go on at once; unset means one per core."""
    short_run: Milliseconds = Field(0.5, validation_alias=_named("short_run"))
    """Runs known to be this short are not handed to a thread, which would cost more."""
    memory_mb: Annotated[float | None, Field(gt=0), Unit("MiB")] = Field(
        None, validation_alias=_named("memory_mb")
    )
    """Most memory all models may take; those used least recently make room. Unset: no limit."""
    idle_unload: MaybeMilliseconds = Field(None, validation_alias=_named("idle_unload"))
    """Unload a model that no request used for this long (`10m`); never when unset."""
    max_batch: Count = Field(1, validation_alias=_named("max_batch"))
    """Most rows that requests may be put together to; 1 runs each request by itself."""
    max_delay: Milliseconds = Field(0, validation_alias=_named("max_delay"))
    """How long a request may wait for others to share its run; 0 puts together what waits."""
    preferred_batch: Sizes = Field((), validation_alias=_named("preferred_batch"))
    """Batch sizes that are run at once."""
    queue_limit: Count = Field(1_024, validation_alias=_named("queue_limit"))
    """Most requests that wait for one model; the surplus is told to come back."""
    queue_timeout: MaybeMilliseconds = Field(None, validation_alias=_named("queue_timeout"))
    """Longest wait for a turn; as long as the deadline allows when unset."""
    optimise: Optimise = Field("all", validation_alias=_named("optimise"))
    """How far a model's graph may be rewritten to run faster."""
    quantise: bool = Field(False, validation_alias=_named("quantise"))
    """Weights as 8-bit integers: smaller, often faster, slightly different answers."""
    intra_threads: Threads = Field(1, validation_alias=_named("intra_threads"))
    """Threads one run may use inside an operator; 0 for one per core."""
    inter_threads: Threads = Field(1, validation_alias=_named("inter_threads"))
    """Threads for operators of one run that do not need each other."""
    providers: Listed = Field(("CPU",), validation_alias=_named("providers"))
    """Execution providers by preference (`CUDA,CPU`)."""
    device: Annotated[int, Field(ge=0)] = Field(0, validation_alias=_named("device"))
    """Which of several devices models are loaded to."""
    device_memory_mb: Annotated[int | None, Field(ge=1), Unit("MiB")] = Field(
        None, validation_alias=_named("device_memory_mb")
    )
    """Most memory one model's arena may take on a device."""
    models: dict[str, ModelTable] = Field(default_factory=dict)
    """What is different for single models: any setting from `max_batch` to `device_memory_mb`."""

    @property
    def policy(self) -> HostPolicy:
        return HostPolicy(
            threads=self.threads or _usable_cores(),
            short_run_s=self.short_run / 1000,
            memory_bytes=None if self.memory_mb is None else int(self.memory_mb * MIB),
            idle_unload_s=None if self.idle_unload is None else self.idle_unload / 1000,
        )

    def plan_for(self, model: str, published: ModelTable | None = None) -> ModelPlan:
        """How one model is loaded and batched: as its own table says, else as it was `published`,
        else as all models."""
        tables = (published, self.models.get(model))
        own = [table.model_dump(exclude_none=True) for table in tables if table is not None]
        chosen = self.model_copy(update={name: it for table in own for name, it in table.items()})
        timeout = chosen.queue_timeout
        return ModelPlan(
            LoadOptions(
                optimise=chosen.optimise,
                quantise=chosen.quantise,
                intra_threads=chosen.intra_threads,
                inter_threads=chosen.inter_threads,
                providers=chosen.providers,
                device=chosen.device,
                device_memory_mb=chosen.device_memory_mb,
            ),
            BatchRules(
                max_rows=chosen.max_batch,
                max_delay_s=chosen.max_delay / 1000,
                preferred=chosen.preferred_batch,
                queue_limit=chosen.queue_limit,
                queue_timeout_s=None if timeout is None else timeout / 1000,
            ),
        )
