from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.settings import read_settings
from inferflow.app.tracing_settings import TracingSettings
from inferflow.errors import InvalidInput
from inferflow.tracing import Sampling


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in os.environ:
        if name.startswith(("OTEL_", "INFERFLOW_TRACING_")):
            monkeypatch.delenv(name)


def test_nothing_is_traced_unless_a_collector_is_named() -> None:
    assert TracingSettings().collector() == ""


@pytest.mark.parametrize(
    ("variable", "value"),
    [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")],
)
def test_the_variables_of_opentelemetry_turn_it_off(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")
    assert TracingSettings().collector() == "http://collector:4317"
    monkeypatch.setenv(variable, value)
    assert TracingSettings().collector() == ""


def test_our_own_variable_wins_over_the_one_for_traces_over_the_one_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in (
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
        ("INFERFLOW_TRACING_ENDPOINT", "http://ours:4317"),
    ):
        monkeypatch.setenv(variable, value)
        assert TracingSettings().collector() == value


def test_an_address_alone_is_plain_text() -> None:
    assert TracingSettings(endpoint="collector:4317").collector() == "http://collector:4317"


@pytest.mark.parametrize(
    ("sampler", "sampling"),
    [
        ("always_on", Sampling(1.0, heeds_callers=False)),
        ("always_off", Sampling(0.0, heeds_callers=False)),
        ("traceidratio", Sampling(0.25, heeds_callers=False)),
        ("parentbased_always_on", Sampling(1.0)),
        ("parentbased_always_off", Sampling(0.0)),
        ("parentbased_traceidratio", Sampling(0.25)),
    ],
)
def test_a_sampler_is_named_as_opentelemetry_does(
    sampler: str, sampling: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    assert TracingSettings().sampling() == sampling


def test_all_traces_that_begin_here_are_kept_unless_told_otherwise() -> None:
    assert TracingSettings().sampling() == Sampling(1.0)


@pytest.mark.parametrize(
    ("variable", "url", "over_http"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318", "http://c:4318/v1/traces"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/otlp/", "https://c/otlp/v1/traces"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318", "http://c:4318/v1/traces"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4318", "http://c:4318/v1/traces"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/x?k=1", "https://c/x?k=1"),
        ("INFERFLOW_TRACING_ENDPOINT", "http://c:4318/v1/traces", "http://c:4318/v1/traces"),
    ],
)
def test_over_http_traces_have_the_path_that_opentelemetry_says(
    variable: str, url: str, over_http: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, url)
    assert TracingSettings().is_http is False
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    assert TracingSettings().is_http is True
    assert TracingSettings().collector() == over_http


def test_a_protocol_that_is_not_spoken_is_refused_where_something_is_traced() -> None:
    settings = TracingSettings(endpoint="http://collector:4318", protocol="http/json")
    with pytest.raises(InvalidInput, match=r"tracing.protocol: 'http/json'; grpc or http/protobuf"):
        settings.collector()
    assert TracingSettings(protocol="http/json").collector() == ""


def test_an_exporter_that_there_is_not_is_refused() -> None:
    settings = TracingSettings(endpoint="http://collector:4317", exporter="zipkin")
    with pytest.raises(InvalidInput, match=r"tracing.exporter: 'zipkin'; otlp or none"):
        settings.collector()


def test_a_share_beyond_one_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text("[tracing]\nsample = 5\n")
    with pytest.raises(InvalidInput, match=r"tracing.sample"):
        read_settings(tmp_path)
