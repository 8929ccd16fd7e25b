"""What is returned and what is logged, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.testing import model


def test_the_response_lists_columns_as_written(shop: Any) -> None:
    shop.response["features"] = ["blend:final", "product:attributes:title", "ranker:score"]
    assert [name for name, _ in shop.plan().response.targets] == shop.response["features"]


def test_columns_of_slate_steps_are_answered_apart(shop: Any) -> None:
    shop["blend"]["slate_component"] = True
    response = shop.plan().response
    assert [name for name, _ in response.targets] == ["ranker:score"]
    assert [name for name, _ in response.slates] == ["blend:final"]


def test_the_full_schema_is_every_model_input_then_the_rest_of_the_response(shop: Any) -> None:
    shop.response["features"] = ["product:attributes:price", "blend:final"]
    assert [name for name, _ in shop.plan().response.full] == [
        "user:profile:age",
        "product:attributes:price",
        "user_category:affinity:share",
        "blend:final",
    ]


def test_the_full_schema_holds_no_column_of_slates(shop: Any) -> None:
    shop["ranker"]["slate_component"] = True
    shop["blend"]["slate_component"] = True
    shop.models["second"] = model(lambda x: x, inputs={"x": "FP32[N,1]"})
    shop.components["predator_component_config"]["second"] = {
        "model_name": "second",
        "inputs": {"feature_map": {"ranker:score": "FP32"}},
        "outputs": {"score_columns": ["score"]},
        "slate_component": True,
    }
    shop.edges["ranker"] = ["second", "blend"]
    full = shop.plan().response.full
    assert "ranker:score" not in [name for name, _ in full]
    assert {column.space for _, column in full} == {"target"}


# --- log schema -------------------------------------------------------------------------------


def log_columns(shop: Any) -> list[str]:
    return [name for name, _ in shop.plan().log.columns]


def test_the_log_holds_features_computed_scores_model_scores_then_what_they_read(
    shop: Any,
) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["hour"] = "INT32"
    shop["blend"]["score_mapping"]["boost"] = "FP32"
    shop.expressions["mix"] = "score + price * boost"
    assert log_columns(shop) == [
        "user:profile:age",
        "user:profile:income",
        "product:attributes:category_id",
        "product:attributes:price",
        "product:attributes:title",
        "product:attributes:embedding",
        "user_category:affinity:share",
        "blend:final",
        "ranker:score",
        "boost",
        "hour",
    ]


def test_logged_features_keep_the_written_order_whatever_their_types(shop: Any) -> None:
    group = shop["fs_product"]["fs_request"]["feature_groups"][0]
    group["feature_labels"] = ["price", "title", "category_id", "embedding"]
    assert log_columns(shop)[2:6] == [
        "product:attributes:price",
        "product:attributes:title",
        "product:attributes:category_id",
        "product:attributes:embedding",
    ]


@pytest.mark.parametrize("written", [False, None])
def test_without_log_features_everything_is_logged(shop: Any, written: Any) -> None:
    if written is not None:
        shop.response["log_features"] = written
    assert len(log_columns(shop)) == 9


def test_log_features_true_logs_what_is_returned(shop: Any) -> None:
    shop.response["log_features"] = True
    assert log_columns(shop) == ["ranker:score", "blend:final"]


def test_a_list_of_log_features_is_logged_exactly(shop: Any) -> None:
    shop.response["log_features"] = ["blend:final", "fs_user:profile:age"]
    assert log_columns(shop) == ["blend:final", "fs_user:profile:age"]


@pytest.mark.parametrize(("written", "size"), [(100, 100), (0, 500), (-3, 500)])
def test_a_log_batch_has_a_size(shop: Any, written: int, size: int) -> None:
    shop.response["log_batch_size"] = written
    assert shop.plan().log.batch_size == size


@pytest.mark.parametrize(
    ("key", "value"), [("logging_perc", 101), ("logging_perc", -1), ("model_schema_perc", 200)]
)
def test_a_percentage_is_between_0_and_100(shop: Any, key: str, value: int) -> None:
    shop.response[key] = value
    [error] = shop.errors()
    assert error.startswith(f"response_config.{key}: ")


# --- other settings ---------------------------------------------------------------------------


def test_a_deadline_and_a_timeout_limit_a_step(shop: Any) -> None:
    assert shop.step("ranker").timeout_ms is None
    shop["ranker"]["deadline"] = 100
    assert shop.step("ranker").timeout_ms == 100
    shop["ranker"]["timeout"] = "2s"
    assert shop.step("ranker").timeout_ms == 2000, "our own key says it more precisely"
    shop["fs_user"]["timeout"] = "50ms"
    assert shop.step("fs_user").timeout_ms == 50


@pytest.mark.parametrize(
    ("step", "policy"), [("fs_user", "default"), ("ranker", "skip"), ("blend", "skip")]
)
def test_every_step_has_a_policy_for_failure(shop: Any, step: str, policy: str) -> None:
    assert shop.step(step).on_error == policy
    shop[step]["on_error"] = "fail"
    assert shop.step(step).on_error == "fail"


@pytest.mark.parametrize(("written", "percent"), [(None, 10), (0, 10), (25, 25)])
def test_a_share_of_errors_is_logged(shop: Any, written: int | None, percent: int) -> None:
    if written is not None:
        shop.components["error_logging_percent"] = written
    assert shop.plan().error_logging_percent == percent


def test_a_documented_config_takes_typed_values(shop: Any) -> None:
    assert shop.plan().value_encoding == "typed"
    shop.config["predict_value_encoding"] = "text"
    assert shop.plan().value_encoding == "text"


def test_the_digest_changes_with_whatever_a_plan_is_made_of(shop: Any) -> None:
    seen = {shop.plan().digest}
    shop["ranker"]["batch_size"] = 7
    seen.add(shop.plan().digest)
    shop.expressions["mix"] = "score - price"
    seen.add(shop.plan().digest)
    shop.takes("x", "FP64[N,3]")
    seen.add(shop.plan().digest)
    assert len(seen) == 4


def test_the_digest_does_not_depend_on_notes_or_readings(shop: Any) -> None:
    before = shop.plan().digest
    shop.config["dag_execution_config"]["direction"] = "children"
    shop.response["logging_ttl"] = 3
    assert shop.plan().digest == before
