"""The demo's parts fit each other: schema and data, configs and models, requests and both."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import yaml

from inferflow.demo import write_shop
from inferflow.demo.population import make_shop
from inferflow.dtypes import parse_dtype

CHECKOUT = Path(__file__).parents[3]
CONFIGS = ("ranker", "ranker_diverse", "pairs", "page")
MODELS = (
    ("ranker", "click_model"),
    ("ranker", "purchase_model"),
    ("ranker_diverse", "click_model"),
    ("ranker_diverse", "purchase_model"),
    ("page", "click_model"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "shop"
    write_shop(folder)
    return folder


def read_config(shop: Path, config_id: str) -> dict[str, Any]:
    (path,) = (shop / "configs").glob(f"{config_id}.*")
    loaded: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))[config_id]
    return loaded


def schema(shop: Path) -> dict[str, dict[str, Any]]:
    """`entity.group` → its keys and its features, as the schema has them."""
    entities = yaml.safe_load((shop / "features/schema.yaml").read_text("utf-8"))["entities"]
    return {
        f"{entity}.{label}": {"keys": declared["keys"], **group}
        for entity, declared in entities.items()
        for label, group in declared["groups"].items()
    }


def read_csv(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def session(shop: Path, model: str) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(shop / "models" / model / "1" / "model.onnx")


def feature_map(shop: Path, config_id: str, component: str) -> dict[str, str]:
    models = read_config(shop, config_id)["component_config"]["predator_component_config"]
    found: dict[str, str] = models[component]["inputs"]["feature_map"]
    return found


def width(shop: Path, columns: dict[str, str]) -> int:
    """Tensor columns a feature map takes: a vector counts its length."""
    total = 0
    for column, dtype in columns.items():
        is_vector = parse_dtype(dtype).is_vector
        group, feature = column.rsplit(":", 1) if is_vector else ("", column)
        declared = schema(shop).get(group.replace(":", "."), {}).get("features", {})
        total += declared[feature]["dim"] if is_vector else 1
    return total


# --- schema and data ------------------------------------------------------------------------


def test_every_group_of_the_schema_has_its_file_with_its_columns(shop: Path) -> None:
    declared = schema(shop)
    assert {path.stem for path in (shop / "features").glob("*.csv")} == declared.keys()
    for name, group in declared.items():
        columns = read_csv(shop / "features" / f"{name}.csv")
        assert list(columns) == [*group["keys"], *group["features"]]


def test_every_key_occurs_once(shop: Path) -> None:
    for name, group in schema(shop).items():
        columns = read_csv(shop / "features" / f"{name}.csv")
        keys = list(zip(*(columns[key] for key in group["keys"]), strict=True))
        assert len(set(keys)) == len(keys)


def test_values_read_back_in_their_declared_type_are_the_values_generated(shop: Path) -> None:
    for table in make_shop().tables:
        group = schema(shop)[table.name]
        columns = read_csv(shop / "features" / f"{table.name}.csv")
        for feature, generated in table.features.items():
            declared = group["features"][feature]
            dtype = parse_dtype(declared.get("dtype", group["dtype"]))
            assert dtype.element.numpy == generated.dtype
            assert dtype.is_vector == (generated.ndim == 2)
            texts = columns[feature]
            if dtype.is_bool:
                read = np.array([{"true": True, "false": False}[text] for text in texts])
            else:
                read = np.array([text.split(":") if dtype.is_vector else text for text in texts])
            assert np.array_equal(read.astype(dtype.element.numpy), generated)
            if dtype.is_vector:
                assert generated.shape[1] == declared["dim"]


def test_a_user_has_affinities_only_with_categories_ever_visited(shop: Path) -> None:
    affinity = make_shop().affinity
    assert (affinity.features["visits"] > 0).all()
    assert len(affinity.features["visits"]) < 2_000 * 20


# --- configs and models ---------------------------------------------------------------------


@pytest.mark.parametrize("config_id", CONFIGS)
def test_every_model_takes_one_float_tensor_and_gives_one(shop: Path, config_id: str) -> None:
    models = read_config(shop, config_id)["component_config"]["predator_component_config"]
    for component, model in models.items():
        run = session(shop, model["model_name"])
        (source,), (answer,) = run.get_inputs(), run.get_outputs()
        assert (source.type, answer.type) == ("tensor(float)", "tensor(float)"), component
        assert answer.shape[1:] == [1]
        assert [answer.name] == model["outputs"]["score_columns"]


@pytest.mark.parametrize(("config_id", "component"), MODELS)
def test_a_rankers_input_is_as_wide_as_its_feature_map(
    shop: Path, config_id: str, component: str
) -> None:
    columns = feature_map(shop, config_id, component)
    assert session(shop, component).get_inputs()[0].shape == ["rows", width(shop, columns)]


def test_the_pair_models_input_is_two_items_and_the_pairs_own_column(shop: Path) -> None:
    columns = feature_map(shop, "pairs", "pair_model")
    own = columns.pop("position_gap")
    assert own == "FP32"
    assert session(shop, "pair_model").get_inputs()[0].shape == [
        "pairs",
        2 * width(shop, columns) + 1,
    ]


def test_the_page_models_input_is_slates_of_any_number_of_items(shop: Path) -> None:
    columns = feature_map(shop, "page", "page_model")
    assert session(shop, "page_model").get_inputs()[0].shape == [
        "slates",
        "items",
        width(shop, columns),
    ]


@pytest.mark.parametrize(
    ("config_id", "component"), [*MODELS, ("pairs", "pair_model"), ("page", "page_model")]
)
def test_a_config_lists_the_columns_in_the_order_the_model_was_trained_with(
    shop: Path, config_id: str, component: str
) -> None:
    trained_on = session(shop, component).get_modelmeta().custom_metadata_map["columns"]
    assert ",".join(feature_map(shop, config_id, component)) == trained_on


def test_models_are_small_enough_to_ship(shop: Path) -> None:
    sizes = {path: path.stat().st_size for path in (shop / "models").rglob("*.onnx")}
    assert len(sizes) == 4
    assert max(sizes.values()) < 300_000


@pytest.mark.parametrize(
    ("config_id", "model", "items"),
    [("ranker", "click_model", 0), ("ranker", "purchase_model", 0), ("page", "page_model", 4)],
)
def test_every_input_moves_the_score(shop: Path, config_id: str, model: str, items: int) -> None:
    run = session(shop, model)
    shape = (2_000, items) if items else (2_000,)
    columns = feature_map(shop, config_id, model)
    one, other = (realistic(columns, shape, seed) for seed in (1, 2))
    (before,) = run.run(None, {"features": one})
    for column in range(one.shape[-1]):
        moved = one.copy()
        moved[..., column] = other[..., column]
        (after,) = run.run(None, {"features": moved})
        assert not np.array_equal(after, before), f"input {column} changes nothing"


def test_every_input_moves_a_pairs_preference(shop: Path) -> None:
    run = session(shop, "pair_model")
    pairs, moved = np.random.default_rng(1).normal(0.0, 1.0, (2, 1, 25)).astype(np.float32)
    (before,) = run.run(None, {"features": pairs})
    for column in range(25):
        changed = np.where(np.arange(25) == column, moved, pairs)
        (after,) = run.run(None, {"features": changed})
        assert after != before, f"input {column} changes nothing"


def realistic(columns: dict[str, str], shape: tuple[int, ...], seed: int) -> np.ndarray:
    """A model's input, each column drawn from the population on its own."""
    rng = np.random.default_rng(seed)
    known = {
        f"{table.entity}:{table.group}:{feature}": values
        for table in make_shop().tables
        for feature, values in table.features.items()
    }
    known |= {"hour": np.arange(24), "click_model:click": np.linspace(0.0, 0.9, 100)}
    drawn = [known[column][rng.integers(0, len(known[column]), shape)] for column in columns]
    parts = [part if part.ndim > len(shape) else part[..., None] for part in drawn]
    return np.concatenate(parts, axis=-1, dtype=np.float32)


def test_swapping_a_pair_turns_its_answer_round(shop: Path) -> None:
    run = session(shop, "pair_model")
    first, second = np.random.default_rng(2).normal(0.0, 1.0, (2, 50, 12)).astype(np.float32)
    gap = np.linspace(-9, 9, 50, dtype=np.float32)[:, None]
    (one,) = run.run(None, {"features": np.concatenate([first, second, gap], axis=1)})
    (other,) = run.run(None, {"features": np.concatenate([second, first, -gap], axis=1)})
    assert np.allclose(one + other, 1.0, atol=1e-5)


# --- requests -------------------------------------------------------------------------------


def test_every_config_has_a_sample_request_and_expects_only_what_it_returns(shop: Path) -> None:
    requests = [json.loads(path.read_text("utf-8")) for path in (shop / "requests").glob("*.json")]
    assert {request["model_config_id"] for request in requests} == set(CONFIGS)
    for request in requests:
        config = read_config(shop, request["model_config_id"])
        assert request["expect"].keys() <= set(config["response_config"]["features"])


def test_expected_scores_are_those_computed_without_the_engine() -> None:
    script = CHECKOUT / "examples" / "expect_shop.py"
    checked = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
