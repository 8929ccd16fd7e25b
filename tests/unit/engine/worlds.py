"""Small worlds to score in: feature tables in dicts, models that are row functions.

A world answers the compiler (what exists) and the engine (the ports). Nothing here is clever:
tables are looked up key by key, models run row by row. `pause` turns every port into one that
really suspends, so that a plan takes the concurrent way through the executor.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inferflow.components.assemble import Ports, assemble
from inferflow.components.cache import FeatureCache
from inferflow.compute import EmbeddedCompute, Evaluation, ExpressionBook
from inferflow.dtypes import FP32, DType, parse_dtype
from inferflow.engine.deadline import Clock, Deadline
from inferflow.engine.limits import Limits
from inferflow.engine.ports import (
    FeatureRead,
    FeatureRows,
    GroupRead,
    GroupRows,
    KeyColumns,
    PreparedCompute,
    ReadState,
)
from inferflow.engine.scorer import Scorer
from inferflow.errors import ModelFailed, StoreFailed
from inferflow.plan.catalog import (
    Endpoint,
    EntityInfo,
    ExpressionInfo,
    FeatureInfo,
    GroupInfo,
    ModelSignature,
    RemotePolicy,
    TensorInfo,
)
from inferflow.plan.compiler import compile_config
from inferflow.plan.plan import Plan

Array = np.ndarray[Any, np.dtype[Any]]
Key = tuple[str, ...]
Pause = Callable[[], Awaitable[None]]
RowFunction = Callable[..., Sequence[Any]]

EXPIRED = "expired"
"""Stands where a row is that is past its time to live."""


@dataclass
class RowModel:
    """A model that looks at one row at a time.

    `function` takes one 1-D array per input and returns one sequence per output. Raising
    ModelFailed fails the whole batch the row is in, as a real model does.
    """

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    function: RowFunction
    version: str = "1"

    def signature(self, name: str) -> ModelSignature:
        digest = f"{name}@{self.version}"
        return ModelSignature(name, self.version, self.inputs, self.outputs, digest)


def tensor(name: str, dtype: DType | str = FP32, *tail: int | None) -> TensorInfo:
    """A tensor with a free batch dimension: `tensor("x", FP32, 3)` is [N, 3]."""
    kind = parse_dtype(dtype) if isinstance(dtype, str) else dtype
    return TensorInfo(name, kind, (None, *tail))


def row_model(
    function: RowFunction, width: int | None = 1, *, outputs: Sequence[TensorInfo] = ()
) -> RowModel:
    """One FP32 input `x` of this width; one FP32 output `score` unless others are given."""
    return RowModel(
        (tensor("x", FP32, width),), tuple(outputs) or (tensor("score", FP32, 1),), function
    )


def refusing(why: str = "it broke") -> ModelFailed:
    return ModelFailed("model", why)


@dataclass
class World:
    """Everything a config can refer to."""

    entities: dict[str, EntityInfo] = field(default_factory=dict)
    tables: dict[tuple[str, str], dict[Key, Any]] = field(default_factory=dict)
    """(entity, group) → key → {feature: value}, or EXPIRED. A feature the row leaves out was
    added to the schema after the row was written."""
    models: dict[str, RowModel] = field(default_factory=dict)
    expressions: dict[str, Any] = field(default_factory=dict)
    broken_keys: set[Key] = field(default_factory=set)
    """Reading a batch that holds one of these fails."""
    endpoints: dict[str, str] = field(default_factory=dict)
    reads: list[KeyColumns] = field(default_factory=list)
    """Every batch of keys the store was asked for."""
    runs: list[tuple[str, list[Array]]] = field(default_factory=list)
    """Every call of a model: its name and the tensors."""
    pause: Pause | None = None

    def table(
        self,
        entity: str,
        group: str,
        features: Mapping[str, Any],
        rows: Mapping[Any, Any],
        *,
        keys: Sequence[str] = (),
    ) -> World:
        """Declare a group and fill it. A feature is a type name, or (type, default[, dim])."""
        infos = {name: _feature(name, told) for name, told in features.items()}
        known = self.entities.get(entity)
        groups = dict(known.groups) if known else {}
        groups[group] = GroupInfo(group, infos)
        names = tuple(keys) or (known.keys if known else (f"{entity}_id",))
        self.entities[entity] = EntityInfo(entity, names, groups)
        self.tables[entity, group] = {
            key if isinstance(key, tuple) else (str(key),): row for key, row in rows.items()
        }
        return self

    # --- what the compiler asks ---------------------------------------------------------------

    remote = RemotePolicy()

    def entity(self, label: str) -> EntityInfo | None:
        return self.entities.get(label)

    def entity_labels(self) -> Collection[str]:
        return self.entities

    def resolve_endpoint(self, text: str) -> str:
        return self.endpoints.get(text, text)

    def signature(self, endpoint: Endpoint) -> ModelSignature | None:
        model = self._model(endpoint)
        return model and model.signature(endpoint.model)

    def model_names(self) -> Collection[str]:
        return self.models

    def expression(self, compute_id: str) -> ExpressionInfo | None:
        found = ExpressionBook(self.expressions).get(compute_id)
        if found is None:
            return None
        numeric = frozenset(found.numeric_variables)
        return ExpressionInfo(found.variables, found.cross_row, numeric, found.digest)

    def compute_ids(self) -> Collection[str]:
        return self.expressions

    def _model(self, endpoint: Endpoint) -> RowModel | None:
        versioned = self.models.get(f"{endpoint.model}@{endpoint.version}")
        return versioned or self.models.get(endpoint.model)

    # --- what the engine asks -----------------------------------------------------------------

    def ports(self, cache: FeatureCache | None = None) -> Ports:
        return Ports(_Reader(self), _Runner(self), _Compute(self), cache)

    def plan(self, config: Mapping[str, Any], config_id: str = "config") -> Plan:
        compiled = compile_config(config_id, config, self)
        assert compiled.plan is not None, [str(problem) for problem in compiled.problems]
        return compiled.plan

    def scorer(
        self,
        config: Mapping[str, Any],
        *,
        config_id: str = "config",
        cache: FeatureCache | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        new_id: Callable[[], str] = lambda: "some-id",
    ) -> Scorer:
        plan = self.plan(config, config_id)
        return Scorer(
            plan,
            assemble(plan, self.ports(cache)),
            limits=limits or Limits(),
            clock=clock or (lambda: 0.0),
            new_id=new_id,
        )


def pausing(seed: int) -> Pause:
    """Suspends a few times, in an order that depends on the seed alone."""
    chance = random.Random(seed)

    async def pause() -> None:
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)

    return pause


def _feature(name: str, told: Any) -> FeatureInfo:
    spelled, default, dim = told if isinstance(told, tuple) and len(told) == 3 else (told, None, 1)
    if isinstance(told, tuple) and len(told) == 2:
        spelled, default = told
    dtype = parse_dtype(spelled) if isinstance(spelled, str) else spelled
    return FeatureInfo(name, dtype, dim, default)


# --- the ports ---------------------------------------------------------------------------------


class _Reader:
    def __init__(self, world: World) -> None:
        self._world = world
        self.is_local = world.pause is None

    def prepare(self, read: FeatureRead) -> _Read:
        return _Read(self._world, read)


class _Read:
    def __init__(self, world: World, read: FeatureRead) -> None:
        self._world = world
        self._read = read

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        world = self._world
        if world.pause is not None:
            await world.pause()
        deadline.check("the feature store")
        world.reads.append(keys)
        names = world.entities[self._read.entity].keys
        order = [self._read.keys.index(name) for name in names]
        rows = [tuple(parts[i] for i in order) for parts in zip(*keys, strict=True)]
        if not world.broken_keys.isdisjoint(rows):
            raise StoreFailed("the store is down")
        return FeatureRows(tuple(self._group(group, rows) for group in self._read.groups))

    def _group(self, group: GroupRead, keys: Sequence[Key]) -> GroupRows:
        entity = self._read.entity
        table = self._world.tables[entity, group.label]
        infos = self._world.entities[entity].groups[group.label].features
        states = np.zeros(len(keys), np.uint8)
        absent: dict[str, list[bool]] = {}
        for i, key in enumerate(keys):
            found = table.get(key)
            states[i] = (
                ReadState.MISSING
                if found is None
                else ReadState.EXPIRED
                if found is EXPIRED
                else ReadState.REAL
            )
        runs = []
        for run in group.runs:
            values = np.empty((len(keys), sum(run.widths)), run.dtype.numpy)
            at = 0
            for label, width in zip(run.features, run.widths, strict=True):
                info = infos[label]
                for i, key in enumerate(keys):
                    row = table.get(key)
                    is_row = isinstance(row, Mapping)
                    absent.setdefault(label, []).append(is_row and label not in row)
                    value = row[label] if is_row and label in row else default_of(info)
                    values[i, at : at + width] = value
                at += width
            runs.append(values)
        masks = {label: np.array(mask) for label, mask in absent.items() if any(mask)}
        return GroupRows(tuple(runs), states if states.any() else None, masks)


def default_of(info: FeatureInfo) -> Any:
    """What a feature holds where the store has nothing: the schema's default, else nothing."""
    if info.default is not None:
        return info.default
    return "" if info.dtype.is_text else 0


class _Runner:
    def __init__(self, world: World) -> None:
        self._world = world

    def is_local(self, endpoint: Endpoint) -> bool:
        return self._world.pause is None

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> _Model:
        model = self._world._model(endpoint)
        assert model is not None
        assert inputs == tuple(info.name for info in model.inputs)
        return _Model(self._world, endpoint, model, outputs)


class _Model:
    def __init__(
        self, world: World, endpoint: Endpoint, model: RowModel, outputs: tuple[str, ...]
    ) -> None:
        self.endpoint = endpoint
        self.version = model.version
        self._world = world
        self._model = model
        names = [info.name for info in model.outputs]
        self._wanted = [names.index(name) for name in outputs]

    async def run(self, tensors: Sequence[Array], *, deadline: Deadline) -> Sequence[Array]:
        if self._world.pause is not None:
            await self._world.pause()
        deadline.check("the model")
        self._world.runs.append((self.endpoint.model, [t.copy() for t in tensors]))
        rows = len(tensors[0])
        answers = [
            self._model.function(*[np.atleast_1d(t[row]) for t in tensors]) for row in range(rows)
        ]
        return [
            _stacked([answer[i] for answer in answers], self._model.outputs[i])
            for i in self._wanted
        ]


def _stacked(values: Iterable[Any], info: TensorInfo) -> Array:
    tail = info.shape[1:]
    rows = [np.asarray(value, info.dtype.numpy) for value in values]
    return np.stack([row.reshape([-1 if d is None else d for d in tail]) for row in rows])


class _Compute:
    endpoint = ""

    def __init__(self, world: World) -> None:
        self.is_local = world.pause is None
        self._world = world
        self._own = EmbeddedCompute(ExpressionBook(world.expressions))

    def prepare(
        self, compute_id: str, variables: tuple[str, ...], *, precision: DType, strict: bool
    ) -> PreparedCompute:
        own = self._own.prepare(compute_id, variables, precision=precision, strict=strict)
        return own if self._world.pause is None else _Paused(own, self._world.pause)


class _Paused:
    batch_size = None

    def __init__(self, own: PreparedCompute, pause: Pause) -> None:
        self._own = own
        self._pause = pause

    async def run(self, columns: Sequence[Array], rows: int, *, deadline: Deadline) -> Evaluation:
        await self._pause()
        return await self._own.run(columns, rows, deadline=deadline)
