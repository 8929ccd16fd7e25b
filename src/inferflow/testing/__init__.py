"""Fakes and a plan runner: try a config without a project folder, a store or a model file.

    from inferflow.testing import entity, model, run_config

    scores = run_config(
        config,
        {"entities": {"user": "7", "product": ["1", "2"]}},
        entities=[entity("user", "user_id", profile={"age": "INT32"})],
        features={"user:profile": {"7": {"age": 31}}},
        models={"ranker": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})},
    )

- `declare`: what a schema and a model file would say, in a line each
- `features`: a feature store that is a dict; `models`: models that are Python functions
- `catalog`: the compiler's view of both; `world`: all of it together, compiling and scoring
- `clock`: time that moves only when told to

The fakes keep every promise of the ports they stand for, failing and slow ones included, so
that what works against them works against the real thing.
"""

from inferflow.testing.catalog import FakeCatalog
from inferflow.testing.clock import ManualClock
from inferflow.testing.declare import entity, model, onnx_model, tensor
from inferflow.testing.features import EXPIRED, FakeFeatures
from inferflow.testing.models import FakeModel, FakeModels, failing, slow
from inferflow.testing.world import World, run_config

__all__ = [
    "EXPIRED",
    "FakeCatalog",
    "FakeFeatures",
    "FakeModel",
    "FakeModels",
    "ManualClock",
    "World",
    "entity",
    "failing",
    "model",
    "onnx_model",
    "run_config",
    "slow",
    "tensor",
]
