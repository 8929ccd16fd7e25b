"""What is logged of a config, and in which order."""

from __future__ import annotations

from inferflow.inferlog.schema import log_schema, schema_from

from .worlds import Answer, ranker, three_items


def listed(answered: Answer, **response: object) -> list[tuple[str, str, int]]:
    schema = log_schema(answered(ranker(**response), three_items()).plan)
    return [(each.name, each.dtype.name, each.size) for each in schema.fields]


def test_features_come_first_in_the_order_written_then_scores_then_inputs_as_text(
    answered: Answer,
) -> None:
    assert listed(answered) == [
        ("item:facts:title", "String", 1),
        ("item:facts:price", "FP32", 1),
        ("item:facts:emb", "FP32Vector", 2),
        ("item:facts:stock", "Int32", 1),
        ("rank:score", "FP32", 1),
        ("boost", "String", 1),
    ]


def test_log_features_true_means_the_response_columns_in_their_order(answered: Answer) -> None:
    assert listed(answered, log_features=True) == [
        ("item_id", "String", 1),
        ("rank:score", "FP32", 1),
    ]


def test_log_features_may_name_columns(answered: Answer) -> None:
    wanted = ["rank:score", "item:facts:stock"]
    assert [name for name, _, _ in listed(answered, log_features=wanted)] == wanted


def test_the_version_is_the_configs_own_within_four_bits(answered: Answer) -> None:
    config = ranker()
    assert log_schema(answered(config, three_items()).plan).version == 3
    config["component_config"]["cache_version"] = 17
    assert log_schema(answered(config, three_items()).plan).version == 1


def test_two_lists_of_columns_have_two_digests(answered: Answer) -> None:
    whole = log_schema(answered(ranker(), three_items()).plan)
    part = log_schema(answered(ranker(log_features=True), three_items()).plan)
    assert whole.digest != part.digest
    assert schema_from(whole.to_dict()) == whole
