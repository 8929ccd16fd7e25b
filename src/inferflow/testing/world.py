"""Everything a config meets, made of fakes: compile against it, score against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inferflow.components.assemble import Ports, assemble
from inferflow.components.cache import FeatureCache
from inferflow.compute import EmbeddedCompute
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer
from inferflow.engine.recording import Recording
from inferflow.engine.request import request_from
from inferflow.engine.scorer import Scorer
from inferflow.errors import InvalidInput, PlanRejected
from inferflow.plan.catalog import EntityInfo
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.normalise import unwrap
from inferflow.plan.plan import Plan
from inferflow.scores import Scores
from inferflow.testing.catalog import FakeCatalog
from inferflow.testing.clock import ManualClock
from inferflow.testing.features import FakeFeatures, Rows
from inferflow.testing.models import FakeModel, FakeModels

CONFIG_ID = "config"
"""What a config that comes without its id is called."""


class World:
    """Features, models, expressions and a clock. Everything a test hands over, and no I/O."""

    def __init__(
        self,
        *,
        entities: Sequence[EntityInfo] = (),
        features: Mapping[str, Rows] | None = None,
        models: Mapping[str, FakeModel] | None = None,
        expressions: Mapping[str, Any] | None = None,
        endpoints: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        cache_mb: float = 8,
        local: bool = True,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer
        self.clock = ManualClock()
        self.features = FakeFeatures(entities, features or {}, local=local, clock=self.clock)
        self.models = FakeModels(models or {}, local=local)
        self.catalog = FakeCatalog(
            entities=entities, models=self.models, expressions=expressions, endpoints=endpoints
        )
        self._limits = limits or Limits()
        self._ports = Ports(
            features=self.features,
            models=self.models,
            compute=EmbeddedCompute(self.catalog.expressions),
            cache=FeatureCache(cache_mb, now=self.clock),
        )

    def compile(self, config: Any) -> Compiled:
        """The plan, or what is wrong; the config may come as `{id: {…}}` or alone."""
        config_id, content = _one(config)
        return compile_config(config_id, content, self.catalog)

    def plan(self, config: Any) -> Plan:
        """The plan. Raises PlanRejected with every problem."""
        compiled = self.compile(config)
        if compiled.plan is None:
            raise PlanRejected(compiled.config_id, compiled.errors)
        return compiled.plan

    def scorer(self, config: Any) -> Scorer:
        """The plan at work. Raises PlanRejected."""
        plan = self.plan(config)
        return Scorer(
            plan,
            assemble(plan, self._ports),
            limits=self._limits,
            clock=self.clock,
            new_id=str,
            observer=self._observer,
        )

    def score(self, config: Any, request: Mapping[str, Any]) -> Scores:
        """The answer to a request in its JSON form."""
        scorer = self.scorer(config)
        return scorer.score_now(request_from(request, config_id=scorer.plan.config_id))

    def record(self, config: Any, request: Mapping[str, Any]) -> tuple[Scores, Recording]:
        """The answer, and what happened on the way."""
        scorer = self.scorer(config)
        asked = request_from(request, config_id=scorer.plan.config_id)
        recording = scorer.new_recording()
        return scorer.score_now(asked, recording), recording


def run_config(config: Any, request: Mapping[str, Any], **world: Any) -> Scores:
    """Score one request with one config, in a `World` made of the other arguments."""
    return World(**world).score(config, request)


def _one(config: Any) -> tuple[str, Any]:
    if not isinstance(config, Mapping):
        return CONFIG_ID, config
    found = unwrap(dict(config), CONFIG_ID)
    if len(found) != 1:
        raise InvalidInput(f"one config is wanted, not {sorted(found)}")
    return next(iter(found.items()))
