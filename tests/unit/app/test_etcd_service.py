"""What etcd says for all configs: read in both forms, taken up, and kept for a start without it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inferflow.app.etcd_service import ServiceWatch
from inferflow.configstore.etcd import Layout
from inferflow.configstore.etcd.service import service_fields
from inferflow.errors import InvalidInput
from inferflow.plan.schema import ServiceDoc
from inferflow.rpc.etcd import Entry, Listing

HOME = "/config/inferflow/services/shop/model-config"
LAYOUT = Layout("shop")


def listing(**written: str) -> Listing:
    """Keys under `model-config/`, where `__` is a slash and `_` a hyphen."""
    entries = {
        f"{HOME}/{name.replace('__', '/').replace('_', '-')}".encode(): Entry(text.encode(), 1)
        for name, text in written.items()
    }
    return Listing(1, entries)


class Etcd:
    """A store whose keys are as the test says; None: it has not answered yet."""

    layout = LAYOUT

    def __init__(self, seen: Listing | None) -> None:
        self.now = seen
        self.mirror = SimpleNamespace(seen=lambda: self.now)


def watch(etcd: Etcd, home: Path, settings: ServiceDoc | None = None) -> tuple[Any, list[Any]]:
    told: list[Any] = []
    store: Any = etcd
    return ServiceWatch(store, settings or ServiceDoc(), home, told.append), told


@pytest.mark.parametrize(
    "written",
    [
        {"service_config": '{"v2_logging_type": "arrow", "compression-enabled": true}'},
        {"serviceConfig__V2LoggingType": "arrow", "serviceConfig__compressionEnabled": "true"},
        {"service_config": '{"v2-logging-type": "proto", "compressionEnabled": true}'}
        | {"service_config__v2_logging_type": '"arrow"'},
    ],
)
def test_one_object_or_a_key_per_field_say_the_same(written: dict[str, str]) -> None:
    fields = service_fields(listing(**written), LAYOUT, ServiceDoc.model_fields)
    assert fields == {"v2_logging_type": "arrow", "compression_enabled": True}


def test_keys_of_configs_and_of_others_say_nothing() -> None:
    seen = listing(config_map__ranker="{}", service_config__a__b="x", other="y")
    assert service_fields(seen, LAYOUT, ServiceDoc.model_fields) == {}


def test_what_is_no_object_is_refused_with_its_key() -> None:
    with pytest.raises(InvalidInput, match="model-config/service-config"):
        service_fields(listing(service_config="arrow"), LAYOUT, ServiceDoc.model_fields)


def test_etcd_counts_over_the_settings_field_by_field_and_changes_are_told(tmp_path: Path) -> None:
    etcd = Etcd(listing(service_config__compression_enabled="true"))
    watched, told = watch(etcd, tmp_path, ServiceDoc(v2_logging_type="arrow"))
    watched.look()
    watched.look()
    assert told == [ServiceDoc(v2_logging_type="arrow", compression_enabled=True)]
    etcd.now = listing()
    watched.look()
    assert told[1:] == [ServiceDoc(v2_logging_type="arrow")]


@pytest.mark.parametrize("bad", ["xml", '{"no": "type"}', "7"])
def test_what_is_wrong_changes_nothing(
    bad: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    etcd = Etcd(listing(service_config__v2_logging_type="parquet"))
    watched, told = watch(etcd, tmp_path)
    watched.look()
    etcd.now = listing(service_config__v2_logging_type=bad)
    watched.look()
    watched.look()
    assert told == [ServiceDoc(v2_logging_type="parquet")]
    assert [each.message for each in caplog.records] == ["service_config_refused"]


def test_a_start_without_etcd_goes_on_as_it_was(tmp_path: Path) -> None:
    watched, _ = watch(Etcd(listing(service_config__v2_logging_type="arrow")), tmp_path)
    watched.look()
    again, told = watch(Etcd(None), tmp_path)
    again.look()
    assert told == [ServiceDoc(v2_logging_type="arrow")]


@pytest.mark.parametrize("text", ["", "{", '{"v2_logging_type": "xml"}'])
def test_without_a_memory_that_can_be_read_the_settings_count(text: str, tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text(text)
    watched, told = watch(Etcd(None), tmp_path, ServiceDoc(compression_enabled=True))
    watched.look()
    assert told == [ServiceDoc(compression_enabled=True)]
