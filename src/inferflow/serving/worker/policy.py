"""How a worker treats its models: how one is loaded and batched, and how much goes on at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from inferflow.plan.catalog import ModelSignature
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.worker.queue import BatchRules


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """How one model is loaded and batched."""

    options: LoadOptions = field(default_factory=LoadOptions)
    rules: BatchRules = field(default_factory=BatchRules)

    def rules_for(self, signature: ModelSignature) -> BatchRules:
        """Its rules; without batching where its rows cannot be told apart."""
        sides = (*signature.inputs, *signature.outputs)
        if signature.inputs and all(side.shape and side.shape[0] is None for side in sides):
            return self.rules
        return BatchRules(
            queue_limit=self.rules.queue_limit,
            queue_timeout_s=self.rules.queue_timeout_s,
            retry_after_ms=self.rules.retry_after_ms,
        )


@dataclass(frozen=True, slots=True)
class HostPolicy:
    threads: int = 2
    """Runs that may go on at once."""
    short_run_s: float = 0.0005
    """Runs up to this long are made on the event loop."""
    memory_bytes: int | None = None
    """Most memory all models may take together, as far as it can be known."""
    idle_unload_s: float | None = None
