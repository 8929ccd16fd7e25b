"""A small shop of fakes: a user, products with a cache, a model and an expression."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from inferflow.engine.observer import Observer
from inferflow.engine.request import request_from
from inferflow.errors import InferflowError
from inferflow.scores import Scores
from inferflow.testing import World, entity, model

Score = Callable[..., Scores]

REQUEST = {"entities": {"user": "u1", "product": ["p1", "p2", "p3"]}}


def config(config_id: str = "shop", **ranker: Any) -> dict[str, Any]:
    return {
        config_id: {
            "dag_execution_config": {
                "component_dependency": {
                    "feature_initializer": ["fs_user", "fs_product"],
                    "fs_user": ["ranker"],
                    "fs_product": ["ranker"],
                    "ranker": ["blend"],
                }
            },
            "component_config": {
                "cache_enabled": True,
                "cache_version": "v1",
                "error_logging_percent": 50,
                "feature_component_config": {
                    "fs_user": {
                        "fs_keys": {"schema": ["user_id"], "col": "context:user:user_id"},
                        "fs_request": {
                            "entity_label": "user",
                            "feature_groups": [{"label": "profile", "feature_labels": ["age"]}],
                        },
                        "col_name_prefix": "user",
                    },
                    "fs_product": {
                        "fs_keys": {"schema": ["product_id"], "col": "context:product:product_id"},
                        "fs_request": {
                            "entity_label": "product",
                            "feature_groups": [
                                {"label": "facts", "feature_labels": ["price", "rating"]}
                            ],
                        },
                        "col_name_prefix": "product",
                        "comp_cache_enabled": True,
                        "comp_cache_ttl": 60,
                    },
                },
                "predator_component_config": {
                    "ranker": {
                        "model_name": "ranker",
                        "inputs": {
                            "feature_map": {
                                "user:profile:age": "FP32",
                                "product:facts:price": "FP32",
                                "product:facts:rating": "FP32",
                            }
                        },
                        "outputs": {"score_columns": ["s"]},
                        **ranker,
                    }
                },
                "numerix_component_config": {
                    "blend": {
                        "compute_id": "blend",
                        "score_column": "score",
                        "data_type": "FP32",
                        "score_mapping": {"ranker:s": "FP32"},
                    }
                },
            },
            "response_config": {"features": ["blend:score"]},
        }
    }


class Shop:
    """The world and a scorer in it, watched."""

    def __init__(
        self, observer: Observer | None, document: Mapping[str, Any], **world: Any
    ) -> None:
        settings: dict[str, Any] = {
            "entities": [
                entity("user", "user_id", profile={"age": "FP32"}),
                entity("product", "product_id", facts={"price": "FP32", "rating": "FP32"}),
            ],
            "features": {
                "user:profile": {"u1": {"age": 30.0}},
                "product:facts": {
                    key: {"price": 2.0, "rating": 1.0} for key in ("p1", "p2", "p3", "p4")
                },
            },
            "models": {
                "ranker": model(
                    lambda x: x.sum(axis=1), inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"}
                )
            },
            "expressions": {"blend": "s 2 *"},
        }
        self.world = World(**{**settings, **world}, observer=observer)
        self.scorer = self.world.scorer(document)

    def score(self, request: Mapping[str, Any] = REQUEST, **more: Any) -> Scores:
        asked = request_from({**request, **more}, config_id=self.scorer.plan.config_id)
        return self.scorer.score_now(asked)

    def fail(self, request: Mapping[str, Any] = REQUEST, **more: Any) -> None:
        with pytest.raises(InferflowError):
            self.score(request, **more)


class Inbox:
    """A UDP socket that is read when asked."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]

    def lines(self) -> list[str]:
        """Everything that has arrived. On loopback a packet is there once it is sent."""
        found: list[str] = []
        while True:
            try:
                found += self._socket.recv(65536).decode().splitlines()
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def make_shop() -> Callable[..., Shop]:
    def make(
        observer: Observer | None, config_id: str = "shop", *, world: Any = None, **ranker: Any
    ) -> Shop:
        return Shop(observer, config(config_id, **ranker), **(world or {}))

    return make


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    box = Inbox()
    yield box
    box.close()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Logging is global; every test leaves it as it was."""
    yield
    assert not [h for h in logging.getLogger().handlers if h.__class__.__module__ == "logging"]
