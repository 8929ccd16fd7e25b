"""Compute steps whose expression only a service knows."""

from __future__ import annotations

from typing import Any

from inferflow.plan.catalog import ExpressionInfo, UnknownExpression
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.plan import ComputeStep
from inferflow.testing import FakeCatalog

SERVICE = "numerix:8083"


class Elsewhere(FakeCatalog):
    """A service may know what is not known here."""

    def expression(self, compute_id: str) -> ExpressionInfo | UnknownExpression | None:  # type: ignore[override]
        return super().expression(compute_id) or UnknownExpression(SERVICE)


def compiled(shop: Any) -> Compiled:
    world = Elsewhere(entities=shop.entities, models=shop.models, expressions=shop.expressions)
    return compile_config("shop", shop.config, world)


def computing(result: Compiled) -> ComputeStep:
    assert result.plan is not None, [str(error) for error in result.errors]
    [step] = [step for step in result.plan.steps if isinstance(step, ComputeStep)]
    return step


def test_every_mapped_column_is_sent_by_the_name_it_would_have_here(shop: Any) -> None:
    known = computing(compiled(shop))
    shop.expressions.clear()
    result = compiled(shop)
    unknown = computing(result)
    assert set(unknown.variables) == set(known.variables)
    assert {each.name for each in unknown.sources} == {each.name for each in known.sources}
    [note] = [each for each in result.problems if "not known here" in each.what]
    assert not note.is_error
    assert SERVICE in note.what


def test_it_is_never_taken_to_look_at_rows_alone(shop: Any) -> None:
    shop.expressions.clear()
    assert computing(compiled(shop)).cross_row


def test_columns_that_end_alike_go_by_their_whole_names(shop: Any) -> None:
    shop.expressions.clear()
    mapped = {"product:attributes:price": "FP32", "context:price": "FP32", "ranker:score": "FP32"}
    shop["blend"]["score_mapping"] = mapped
    assert set(computing(compiled(shop)).variables) == {
        "product:attributes:price",
        "context:price",
        "score",
    }


def test_a_name_that_is_given_is_kept_and_taken_by_nobody_else(shop: Any) -> None:
    shop.expressions.clear()
    mapped = {"price@FP32": "ranker:score", "product:attributes:price": "FP32"}
    shop["blend"]["score_mapping"] = mapped
    assert set(computing(compiled(shop)).variables) == {"price", "product:attributes:price"}


def test_text_does_not_travel(shop: Any) -> None:
    shop.expressions.clear()
    shop["blend"]["score_mapping"] = {"product:attributes:title": "String", "ranker:score": "FP32"}
    assert any("needs a number for 'title'" in error.what for error in compiled(shop).errors)


def test_a_calibration_is_computed_here_or_not_at_all(shop: Any) -> None:
    shop["ranker"]["calibration"] = {"type": "expression", "name": "gone"}
    assert any("no expression 'gone'" in error.what for error in compiled(shop).errors)
