"""Compiles a compute step: which columns are which variables of the expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferflow.dtypes import FP32, FP64
from inferflow.plan.assumed import assumed_expression
from inferflow.plan.catalog import ExpressionInfo, UnknownExpression
from inferflow.plan.plan import Column, ComputeStep, Source, Space, Step
from inferflow.plan.problems import closest_hint
from inferflow.plan.spec import ComputeStepSpec, Use
from inferflow.plan.step_compiler import StepCompiler
from inferflow.plan.tensors import via


class ComputeCompiler(StepCompiler[ComputeStepSpec]):
    def _begin(self) -> None:
        self._output: Column | None = None
        self._inputs: dict[str, Column] = {}
        self._precision = FP64 if self._step.dtype is FP64 else FP32

    def declare(self) -> None:
        step = self._step
        if step.dtype.is_vector or step.dtype.is_text:
            self._problems.error(
                f"{step.name}.data_type", f"a computed score is a number, not {step.dtype.name}"
            )
        space: Space = "slate" if step.slate else "target"
        block = self._book.new_block(step.dtype, 1, step.name, space)
        self._output = Column(step.column, step.dtype, 1, block, 0, space, step.name)
        aliases = [step.bare] if step.bare != step.column else []
        self._book.declare(self._output, where=f"{step.name}.score_column", aliases=aliases)

    def want(self) -> None:
        for use in self._step.uses:
            self._book.want(use, reader=self._step.name, slate=self._step.slate)

    def compile(self, place: dict[str, Any]) -> Step:
        step = self._step
        info = self._expression()
        chosen = self._variables(info) if info else {}
        numeric = info.numeric if info else frozenset()
        sources = [self._source(use, variable in numeric) for variable, use in chosen.items()]
        if info is not None:
            self._check_numbers(info, dict(zip(chosen, sources, strict=True)))
        for use in step.uses:
            if use not in chosen.values():
                self._book.resolve(use, reader=step.name, slate=step.slate)
                if info is not None:
                    self._problems.note(
                        use.where, f"expression {step.compute_id!r} does not read this column"
                    )
        known = [source for source in sources if source is not None]
        return ComputeStep(
            **place,
            on_error=step.on_error,
            timeout_ms=step.timeout_ms,
            writes=(self._output,) if self._output else (),
            reads=tuple(c for source in known for c in (source.target, source.slate) if c),
            compute_id=step.compute_id,
            variables=tuple(chosen),
            sources=tuple(known),
            output=self._output,
            precision=self._precision,
            strict=step.strict,
            cross_row=info.cross_row if info else False,
            nan_policy=step.nan_policy,
            nan_default=step.nan_default,
            slate=step.slate,
            slate_reduce=step.slate_reduce,
        )

    def _expression(self) -> ExpressionInfo | None:
        compute_id = self._step.compute_id
        info = self._catalog.expression(compute_id)
        if info is None:
            self._problems.error(
                f"{self._step.name}.compute_id",
                f"there is no expression {compute_id!r}",
                closest_hint(compute_id, self._catalog.compute_ids()),
            )
            return None
        if isinstance(info, UnknownExpression):
            self._problems.note(
                f"{self._step.name}.compute_id",
                f"expression {compute_id!r} is not known here, so {info.where} gets every mapped "
                "column and all rows at once",
            )
            info = assumed_expression(self._step)
        self.facts.append(info.digest)
        return info

    def _variables(self, info: ExpressionInfo) -> dict[str, Use]:
        """expression variable → the mapped column it means.

        A variable is the name the mapping gives, else the full column name, else the column's
        last segment when no other mapped column ends the same way.
        """
        step = self._step
        named: dict[str, Use] = {use.variable: use for use in step.uses if use.variable}
        plain = [use for use in step.uses if not use.variable]
        full = {use.column: use for use in plain}
        last: dict[str, list[Use]] = {}
        for use in plain:
            last.setdefault(use.column.rpartition(":")[2], []).append(use)
        chosen: dict[str, Use] = {}
        for variable in info.variables:
            found = named.get(variable) or full.get(variable)
            candidates = last.get(variable, [])
            if found is None and len(candidates) > 1:
                names = " or ".join(f"`{use.column}`" for use in candidates)
                self._problems.error(
                    f"{step.name}.score_mapping",
                    f"variable {variable!r} may mean {names}",
                    "write the full name in backquotes in the expression",
                )
            elif found is None and candidates:
                found = candidates[0]
            elif found is None:
                self._problems.error(
                    f"{step.name}.score_mapping",
                    f"expression {step.compute_id!r} reads {variable!r}, which is not mapped",
                    closest_hint(variable, [*named, *full, *last]),
                )
            if found is not None:
                chosen[variable] = found
        return chosen

    def _check_numbers(self, info: ExpressionInfo, sources: Mapping[str, Source | None]) -> None:
        for variable, source in sources.items():
            column = source and (source.target or source.slate)
            if variable not in info.numeric or not source or not column or not column.dtype:
                continue
            kind = source.via or column.dtype
            if kind.is_text or column.is_vector:
                self._problems.error(
                    f"{self._step.name}.score_mapping",
                    f"expression {self._step.compute_id!r} needs a number for {variable!r}, "
                    f"and column {column.name!r} is {column.dtype.name}",
                )

    def _source(self, use: Use, is_number: bool) -> Source | None:
        declared = use.dtype
        if is_number and use.variable and declared is not None and declared.is_text:
            # `variable@String` is how the original says that a text holds a number.
            declared = self._precision
        target, slate = self._book.resolve(use, reader=self._step.name, slate=self._step.slate)
        column = target or slate
        if column is None:
            return None
        self._inputs.setdefault(use.column, column)
        return Source(
            use.column, target, slate, via(declared, column.dtype), column.width or use.dim or 0
        )

    def input_columns(self) -> dict[str, Column]:
        return self._inputs

    def logged(self) -> list[Column]:
        return [self._output] if self._output else []
