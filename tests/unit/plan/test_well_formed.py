"""What is written wrongly: keys, types, names. Each problem names its place and its fix."""

from __future__ import annotations

from typing import Any

import pytest

RANKER = "component_config.predator_component_config.ranker"
BLEND = "component_config.numerix_component_config.blend"


def test_the_shop_itself_compiles(shop: Any) -> None:
    assert shop.errors() == []


@pytest.mark.parametrize(
    ("place", "key", "meant"),
    [
        ("ranker", "batchsize", "batch_size"),
        ("ranker", "model_endpoints", "model_end_points"),
        ("fs_user", "comp_cache_enable", "comp_cache_enabled"),
        ("blend", "dtype", "data_type"),
    ],
)
def test_an_unknown_key_is_an_error_with_the_nearest_known_one(
    shop: Any, place: str, key: str, meant: str
) -> None:
    shop[place][key] = 1
    [error] = shop.errors()
    assert error.endswith(f".{place}.{key}: unknown key (closest: {meant!r})")


def test_a_key_that_resembles_nothing_gets_no_hint(shop: Any) -> None:
    shop.response["zzz"] = 1
    assert shop.errors() == ["response_config.zzz: unknown key"]


def test_keys_of_the_original_control_plane_are_noted_and_ignored(shop: Any) -> None:
    shop.components["real_time_pricing_feature_components"] = [{"anything": 1}]
    shop.response["logging_ttl"] = 30
    notes = shop.notes()
    assert (
        "component_config.real_time_pricing_feature_components: has no effect here and is ignored"
        in notes
    )
    assert "response_config.logging_ttl: has no effect here and is ignored" in notes


def test_such_a_key_is_only_tolerated_where_the_original_puts_it(shop: Any) -> None:
    shop.takes("x", "FP32[N,1]")
    shop.reads(logging_ttl="FP32")
    assert [column.name for column in shop.step("ranker").reads] == ["logging_ttl"]


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("dag_execution_config", "is required"),
        ("component_config", "is required"),
        ("response_config", "is required"),
    ],
)
def test_a_part_that_is_missing_is_named(shop: Any, part: str, what: str) -> None:
    del shop.config[part]
    assert shop.errors() == [f"{part}: {what}"]


@pytest.mark.parametrize("written", [None, [], "ranker", 7, True])
def test_a_config_that_is_no_object_is_one_problem(shop: Any, written: Any) -> None:
    shop.config = written
    assert shop.errors() == ["config: an object is wanted"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("response_config", "features", []), "response_config.features: is empty"),
        (("response_config", "features", "score"), "response_config.features: a list is wanted"),
        (("response_config", "features", [1]), "response_config.features[0]: a text is wanted"),
        (
            ("dag_execution_config", "component_dependency", {}),
            "dag_execution_config.component_dependency: is empty",
        ),
        (
            ("component_config", "predator_component_config", []),
            "component_config.predator_component_config: an object is wanted",
        ),
        (
            ("response_config", "log_features", [1]),
            "response_config.log_features: true, false or a list of column names is wanted",
        ),
    ],
)
def test_a_part_of_the_wrong_kind_says_what_is_wanted(
    shop: Any, change: tuple[str, str, Any], error: str
) -> None:
    part, key, value = change
    shop.config[part][key] = value
    assert shop.errors() == [error]


def test_an_unknown_data_type_is_an_error_with_the_nearest_one(shop: Any) -> None:
    shop.feature_map["user:profile:age"] = "INT23"
    shop["blend"]["data_type"] = "FP23"
    assert shop.errors() == [
        f"{RANKER}.inputs.feature_map['user:profile:age'].dtype: "
        "'INT23' is not a data type; did you mean 'Int32'?",
        f"{BLEND}.data_type: 'FP23' is not a data type; did you mean 'FP32'?",
    ]


def test_a_data_type_to_read_a_feature_as_is_checked_too(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"][0] = "age@Int7"
    [error] = shop.errors()
    assert error.startswith("fs_user.fs_request.feature_groups[0].feature_labels: 'Int7' is not")


@pytest.mark.parametrize("duration", ["soon", "-5ms", True, [1], float("inf"), float("nan")])
def test_a_duration_that_is_none_is_an_error(shop: Any, duration: Any) -> None:
    shop["ranker"]["timeout"] = duration
    [error] = shop.errors()
    assert error.startswith(f"{RANKER}.timeout: ")
    assert "is not a duration; write 200ms, 5s or a number of milliseconds" in error


@pytest.mark.scenario("C4")
@pytest.mark.parametrize(
    ("routes", "error"),
    [
        ({"a": 60, "b": 50}, "percentages add up to 110, more than 100"),
        (
            {"a": 60, "b": 30},
            "percentages add up to 90 and nothing takes the rest "
            "(make them 100, or set model_endpoint)",
        ),
        ({"a": 0, "b": 0}, "no endpoint has a share (give percentages, or set model_endpoint)"),
        ({"a": 110, "b": -10}, "a percentage is negative"),
    ],
)
def test_percentages_must_give_all_traffic_a_place(
    shop: Any, routes: dict[str, float], error: str
) -> None:
    shop.endpoints = dict.fromkeys(routes, "local:ranker")
    shop["ranker"]["model_end_points"] = routes
    assert shop.errors() == [f"ranker.model_end_points: {error}"]


def test_a_percentage_that_is_no_number_is_an_error(shop: Any) -> None:
    shop["ranker"]["model_end_points"] = {"local": float("nan")}
    [error] = shop.errors()
    assert error.startswith(f"{RANKER}.model_end_points[0].percentage: ")


def test_percentages_below_100_are_fine_with_an_endpoint_for_the_rest(shop: Any) -> None:
    shop["ranker"]["model_end_points"] = {"local:ranker": 30}
    shop["ranker"]["model_endpoint"] = "local"
    assert shop.step("ranker").routes.bounds == (30.0, 30.0)


def test_percentages_that_round_to_100_leave_no_rest(shop: Any) -> None:
    shares = [0.1, 64.1, 35.8]
    assert sum(shares) < 100
    shop.endpoints = {str(i): "local:ranker" for i in range(len(shares))}
    shop["ranker"]["model_end_points"] = {str(i): share for i, share in enumerate(shares)}
    assert len(shop.step("ranker").arms) == 3


def test_key_names_and_columns_must_pair_up(shop: Any) -> None:
    shop["fs_affinity"]["fs_keys"]["col"] = "context:user:user_id"
    assert shop.errors() == [
        "fs_affinity.fs_keys: 2 key name(s) but 1 column(s) "
        "(give `col` one column per name, as a list)"
    ]


@pytest.mark.parametrize(
    "keys",
    [
        {"schema": ["user_id", "category_id"], "col": ["u", "c"]},
        {"schema": ["user_id", "category_id"], "col": "u, c"},
        [{"schema": "user_id", "col": "u"}, {"schema": ["category_id"], "col": ["c"]}],
    ],
)
def test_several_keys_may_be_written_as_lists_commas_or_objects(shop: Any, keys: Any) -> None:
    shop["fs_affinity"]["fs_keys"] = keys
    found = [(key.name, key.column.name) for key in shop.step("fs_affinity").keys]
    assert found == [("user_id", "u"), ("category_id", "c")]


def test_the_keys_may_be_written_with_the_capitals_of_the_documentation(shop: Any) -> None:
    shop["fs_user"]["FSKeys"] = shop["fs_user"].pop("fs_keys")
    assert shop.errors() == []


def test_a_key_given_twice_is_an_error(shop: Any) -> None:
    keys = {"schema": ["user_id", "user_id"], "col": ["u", "c"]}
    shop["fs_affinity"]["fs_keys"] = keys
    assert "fs_affinity.fs_keys: key 'user_id' is given twice" in shop.errors()


def test_two_components_of_one_name_are_an_error(shop: Any) -> None:
    shop.components["numerix_component_config"]["ranker"] = shop["blend"]
    assert "component_config.ranker: two components have this name" in shop.errors()


def test_the_name_of_the_root_is_taken(shop: Any) -> None:
    shop.components["numerix_component_config"]["feature_initializer"] = shop["blend"]
    errors = shop.errors()
    assert (
        "component_config.feature_initializer: this name is kept for the root of every graph"
        in errors
    )


def test_a_name_inside_a_component_must_be_the_one_it_has_as_a_key(shop: Any) -> None:
    shop["blend"]["component"] = "mixer"
    assert shop.errors() == [
        "component_config.blend.component: 'mixer' is not the name this component has as a key"
    ]


def test_a_config_of_only_compute_steps_is_refused(shop: Any) -> None:
    shop.components["feature_component_config"] = {}
    shop.components["predator_component_config"] = {}
    shop.config["dag_execution_config"]["component_dependency"] = {"blend": []}
    shop["blend"]["score_mapping"] = {"score": "FP32", "price": "FP32"}
    shop.response["features"] = ["blend:final"]
    assert shop.errors() == ["component_config: needs at least one feature or model component"]


def test_a_feature_asked_for_twice_is_an_error(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = ["age", "age@FP32"]
    assert (
        "fs_user.fs_request.feature_groups[0].feature_labels: 'age' is asked for twice"
        in shop.errors()
    )


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"feature_map": {}}, "ranker.inputs: lists no columns (fill feature_map)"),
        (
            [
                {"name": "x", "features": ["user:profile:age"]},
                {"name": "x", "features": ["user:profile:income"]},
            ],
            "ranker.inputs['x']: the same tensor is given twice",
        ),
    ],
)
def test_inputs_must_say_what_fills_each_tensor_once(shop: Any, inputs: Any, error: str) -> None:
    shop.takes("x", "FP32[N,1]")
    shop["ranker"]["inputs"] = inputs
    assert shop.errors() == [error]


def test_a_tensor_without_columns_is_an_error(shop: Any) -> None:
    shop["ranker"]["inputs"] = [{"name": "x", "features": []}]
    assert shop.errors() == [f"{RANKER}.inputs.tensors[0].features: is empty"]


@pytest.mark.parametrize("shape", [[0], [-2], [3, -7]])
def test_a_shape_holds_sizes_or_minus_one(shop: Any, shape: list[int]) -> None:
    shop["ranker"]["inputs"] = [{"name": "x", "features": ["user:profile:age"], "shape": shape}]
    [error] = shop.errors()
    assert "is not a size; write -1 for one that is worked out" in error


def test_a_score_needs_a_column(shop: Any) -> None:
    shop["ranker"]["outputs"] = {"score_columns": []}
    assert "ranker.outputs: names no score columns (fill score_columns)" in shop.errors()


def test_dims_come_one_per_score(shop: Any) -> None:
    shop["ranker"]["outputs"] = [
        {"name": "score", "model_scores": ["ranker:score"], "model_scores_dims": [[1], [1]]}
    ]
    assert shop.errors() == ["ranker.outputs['score'].model_scores_dims: 1 score(s) but 2 dims"]


def test_an_empty_mapping_computes_nothing(shop: Any) -> None:
    shop["blend"]["score_mapping"] = {}
    assert "blend.score_mapping: maps no columns" in shop.errors()


def test_a_variable_has_one_column(shop: Any) -> None:
    shop["blend"]["score_mapping"] = {
        "score@FP32": "ranker:score",
        "score@FP64": "product:attributes:price",
        "price@FP32": "product:attributes:price",
    }
    assert shop.errors() == ["blend.score_mapping: variable 'score' is given two columns"]


@pytest.mark.parametrize(
    ("calibration", "error"),
    [
        ({"enabled": True}, "is enabled but has no name (set `name`, or `type` and its values)"),
        ({"type": "platt", "a": 1.0}, "platt needs `a` and `b`"),
        ({"x": [0.0, 1.0], "y": [0.0]}, "isotonic needs `x` and `y` of one length, at least two"),
        ({"x": [0.0], "y": [0.0]}, "isotonic needs `x` and `y` of one length, at least two"),
        ({"x": [1.0, 0.0], "y": [0.0, 1.0]}, "isotonic needs `x` strictly rising"),
        ({"x": [0.0, 1.0], "y": [1.0, 0.0]}, "isotonic needs `y` that never falls"),
        (
            {"type": "expression", "name": "mux"},
            "there is no expression 'mux' (closest: 'mix')",
        ),
        (
            {"type": "expression", "name": "mix"},
            "expression 'mix' reads ['score', 'price'] "
            "(a calibration reads one variable, the score)",
        ),
        (
            {"a": 1.0, "b": 0.0, "columns": ["scare"]},
            "this step writes no score 'scare' (closest: 'score')",
        ),
    ],
)
def test_a_calibration_must_be_complete(shop: Any, calibration: dict[str, Any], error: str) -> None:
    shop["ranker"]["calibration"] = calibration
    assert shop.errors() == [f"ranker.calibration: {error}"]


@pytest.mark.parametrize("calibration", [None, "", {}, {"enabled": False}])
def test_a_calibration_may_be_switched_off_in_several_ways(shop: Any, calibration: Any) -> None:
    shop["ranker"]["calibration"] = calibration
    assert shop.step("ranker").calibrations == ()


@pytest.mark.parametrize("version", ["latest", "", "1" * 10])
def test_a_cache_version_without_a_usable_number_is_an_error(shop: Any, version: str) -> None:
    shop.components["cache_version"] = version
    assert shop.errors() == [
        f"component_config.cache_version: {version!r} is no version (write 1 or v1)"
    ]


def test_a_length_is_only_for_vectors(shop: Any) -> None:
    shop.feature_map["boost"] = {"dtype": "FP32", "dim": 3}
    [error] = shop.errors()
    assert "`dim` is the length of a vector: give `dtype` one, like FP32Vector" in error
