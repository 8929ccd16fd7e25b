"""Compiles a model step: routes, tensors fitted to each model's signature, score columns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from inferflow.dtypes import FP8E4M3, FP8E5M2
from inferflow.errors import ModelUnreadable
from inferflow.plan.assumed import ASSUMED, assumed_inputs, assumed_signature
from inferflow.plan.catalog import Endpoint, ExpressionInfo, ModelSignature, UnknownSignature
from inferflow.plan.endpoints import LOCAL, Refused, read_endpoint
from inferflow.plan.plan import (
    Calibration,
    Column,
    ModelArm,
    ModelStep,
    OutputPlan,
    Routes,
    Source,
    Space,
    Step,
    TensorPlan,
)
from inferflow.plan.problems import Problems, closest_hint
from inferflow.plan.spec import SHARE_ROUNDING, ModelStepSpec, Use
from inferflow.plan.step_compiler import StepCompiler
from inferflow.plan.tensors import BoundOutput, BoundUse, bind_inputs, bind_outputs, via


class ModelCompiler(StepCompiler[ModelStepSpec]):
    def _begin(self) -> None:
        self._arms: list[tuple[Endpoint, ModelSignature]] = []
        self._bounds: list[float] = []
        self._outputs: list[OutputPlan] = []
        self._inputs: dict[str, Column] = {}

    # --- what it writes ----------------------------------------------------------------------

    def declare(self) -> None:
        self._choose_arms()
        if self._arms:
            self._declare_scores()
        calibration = self._step.calibration
        if calibration is not None and calibration.kind == "lookup":
            where = f"{self._step.name}.calibration"
            self._book.constant(f"{calibration.name}_model", self._step.model, where=where)
            self._book.constant("inferflow_config_id", self._spec.id, where=where)

    def _choose_arms(self) -> None:
        """Arms in routing order; the last one takes what the percentages leave."""
        step = self._step
        texts = [(route.endpoint, route.percent) for route in step.routes if route.percent > 0]
        if not texts or sum(share for _, share in texts) < 100 - SHARE_ROUNDING:
            texts.append((step.endpoint, 0.0))
        total = 0.0
        for text, share in texts:
            endpoint = self._endpoint(text)
            signature = self._signature(endpoint) if endpoint else None
            if endpoint is None or signature is None:
                continue
            total += share
            self._arms.append((endpoint, signature))
            self._bounds.append(total)
            self.facts.append(f"{endpoint} {signature.digest}")

    def _endpoint(self, written: str) -> Endpoint | None:
        step = self._step
        text = self._catalog.resolve_endpoint(written)
        if text != written:
            self.readings.append(f"{step.name}: endpoint {written!r} stands for {text!r} here")
        endpoint = read_endpoint(text, step.model, step.version, self._catalog.remote)
        if isinstance(endpoint, Endpoint):
            return endpoint
        self._refuse(written, endpoint)
        return None

    def _refuse(self, written: str, refused: Refused) -> None:
        own = self._step
        field = "model_endpoint" if written == own.endpoint else "model_end_points"
        here = f'set [endpoints] "{written}" = "local:{own.model}" in inferflow.toml to run it here'
        hint = f"{refused.hint}; or {here}" if refused.hint else here
        self._problems.error(f"{own.name}.{field}", refused.what, hint)

    def _signature(self, endpoint: Endpoint) -> ModelSignature | None:
        where = f"{self._step.name}.{self._place_of(endpoint)}"
        try:
            signature = self._catalog.signature(endpoint)
        except ModelUnreadable as broken:
            self._problems.error(where, str(broken))
            return None
        if isinstance(signature, UnknownSignature):
            self._problems.note(
                where,
                f"model {endpoint.model!r} could not be asked what it takes: {signature.why}",
                "its tensors are taken from the config, and checked when it can be asked",
            )
            return assumed_signature(self._step, endpoint)
        if signature is None:
            version = f" version {endpoint.version}" if endpoint.version else ""
            at = f" at {endpoint.address}" if endpoint.address else ""
            self._problems.error(
                where,
                f"there is no model {endpoint.model!r}{version}{at}",
                "" if endpoint.address else self._hint_instead_of(endpoint),
            )
        return signature

    def _place_of(self, endpoint: Endpoint) -> str:
        """The field that names this model."""
        if endpoint.text in ("", LOCAL):
            return "model_name"
        only = self._catalog.resolve_endpoint(self._step.endpoint)
        return "model_endpoint" if endpoint.text == only else "model_end_points"

    def _hint_instead_of(self, endpoint: Endpoint) -> str:
        names = self._catalog.model_names()
        if endpoint.version and endpoint.model in names:
            with suppress(ModelUnreadable):
                highest = self._catalog.signature(Endpoint(endpoint.text, endpoint.model, None))
                if isinstance(highest, ModelSignature):
                    return f"the highest version there is: {highest.version}"
        expected = f"expected models/{endpoint.model}/<version>/model.onnx"
        return closest_hint(endpoint.model, names) or expected

    def _declare_scores(self) -> None:
        """Score columns are laid out by the first arm; the others must agree."""
        step = self._step
        space: Space = "slate" if step.slate else "target"
        first = bind_outputs(step, self._arms[0][1], self._problems)
        for bound in first:
            width = sum(size for _, size in bound.scores)
            block = self._book.new_block(bound.dtype, width, step.name, space)
            columns = []
            offset = 0
            for score, size in bound.scores:
                dtype = bound.dtype.vector if size > 1 else bound.dtype
                column = Column(score.column, dtype, size, block, offset, space, step.name)
                aliases = [score.bare] if score.bare != score.column else []
                self._book.declare(column, where=f"{step.name}.outputs", aliases=aliases)
                columns.append(column)
                offset += size
            self._outputs.append(OutputPlan(bound.tensor, block, width, tuple(columns)))
        for endpoint, signature in self._arms[1:]:
            other = bind_outputs(step, signature, self._problems)
            if [_shape(b) for b in other] != [_shape(b) for b in first]:
                self._problems.error(
                    f"{step.name}.outputs",
                    f"the models of {self._arms[0][0].text!r} and {endpoint.text!r} "
                    "give different scores",
                )

    # --- what it reads -----------------------------------------------------------------------

    def _uses(self) -> list[Use]:
        return [*self._step.uses, *(use for t in self._step.tensors for use in t.uses)]

    def want(self) -> None:
        for use in self._uses():
            self._book.want(use, reader=self._step.name, slate=self._step.slate)

    def compile(self, place: dict[str, Any]) -> Step:
        step = self._step
        uses = self._uses()
        bound = [item for item in map(self._bound, uses) if item is not None]
        arms = []
        for endpoint, known in self._arms:
            tensors: tuple[TensorPlan, ...] = ()
            signature = known
            if bound and len(bound) == len(uses):
                signature = self._with_inputs(known, bound)
                tensors = bind_inputs(step, bound, signature, self._problems)
            arms.append(ModelArm(endpoint, signature, tensors, self._fitted_outputs(signature)))
        reads = [c for item in bound for c in (item.source.target, item.source.slate) if c]
        return ModelStep(
            **place,
            on_error=step.on_error,
            timeout_ms=step.timeout_ms,
            writes=tuple(column for out in self._outputs for column in out.columns),
            reads=tuple(reads),
            model=step.model,
            arms=tuple(arms),
            routes=Routes(tuple(self._bounds), self._spec.id) if len(arms) > 1 else None,
            batch_size=step.batch_size,
            calibrations=self._calibrations(),
            nan_policy=step.nan_policy,
            nan_default=step.nan_default,
            slate=step.slate,
            slate_reduce=step.slate_reduce,
        )

    def _with_inputs(self, signature: ModelSignature, bound: list[BoundUse]) -> ModelSignature:
        """What a model that could not be asked is taken to be, now that columns are known."""
        if signature.digest != ASSUMED:
            return signature
        step, inputs = self._step, assumed_inputs(self._step, bound)
        for field, tensors in (("inputs", inputs), ("outputs", signature.outputs)):
            for info in tensors:
                if info.dtype in (FP8E4M3, FP8E5M2):
                    self._problems.error(
                        f"{step.name}.{field}[{info.name!r}]",
                        f"a model on another host takes and gives no {info.dtype.name}",
                        "declare FP16 or FP32",
                    )
        return replace(signature, inputs=inputs)

    def _bound(self, use: Use) -> BoundUse | None:
        target, slate = self._book.resolve(use, reader=self._step.name, slate=self._step.slate)
        column = target or slate
        if column is None:
            return None
        self._inputs.setdefault(use.column, column)
        source = Source(
            use.column, target, slate, via(use.dtype, column.dtype), column.width or use.dim or 0
        )
        return BoundUse(use, source)

    def _fitted_outputs(self, signature: ModelSignature) -> tuple[OutputPlan, ...]:
        """The same blocks, under this arm's own output names."""
        own = bind_outputs(self._step, signature, Problems())
        return tuple(
            OutputPlan(bound.tensor, out.block, out.width, out.columns)
            for bound, out in zip(own, self._outputs, strict=False)
        )

    def _calibrations(self) -> tuple[Calibration, ...]:
        spec = self._step.calibration
        if spec is None or spec.kind == "lookup" or not self._outputs:
            return ()
        where = f"{self._step.name}.calibration"
        scores = {
            name: column
            for out in self._outputs
            for column in out.columns
            for name in (column.name, column.name.rpartition(":")[2])
        }
        names = spec.columns or (self._outputs[0].columns[0].name,)
        variable = self._calibration_variable(spec.name, where) if spec.kind == "expression" else ""
        result = []
        for name in names:
            if name not in scores:
                self._problems.error(
                    where, f"this step writes no score {name!r}", closest_hint(name, scores)
                )
                continue
            result.append(
                Calibration(
                    spec.kind, scores[name], spec.a, spec.b, spec.x, spec.y, spec.name, variable
                )
            )
        return tuple(result)

    def _calibration_variable(self, compute_id: str, where: str) -> str:
        info = self._catalog.expression(compute_id)
        if not isinstance(info, ExpressionInfo):  # calibration is never left to a service
            self._problems.error(
                where,
                f"there is no expression {compute_id!r}",
                closest_hint(compute_id, self._catalog.compute_ids()),
            )
            return ""
        self.facts.append(info.digest)
        if len(info.variables) != 1:
            self._problems.error(
                where,
                f"expression {compute_id!r} reads {list(info.variables)}",
                "a calibration reads one variable, the score",
            )
            return ""
        return info.variables[0]

    def input_columns(self) -> dict[str, Column]:
        return self._inputs

    def logged(self) -> list[Column]:
        return [column for out in self._outputs for column in out.columns]


def _shape(bound: BoundOutput) -> tuple[str, list[int]]:
    return bound.dtype.name, [width for _, width in bound.scores]
