"""`inferflow settings`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run


def test_settings_are_shown_by_table_with_value_origin_and_meaning(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_PASSWORD", "hush")
    monkeypatch.setenv("INFERFLOW_DRAIN_PAUSE", "1s")
    shown = run("settings", starter).stdout
    assert "drain_pause = 1000 ms  (environment INFERFLOW_DRAIN_PAUSE)" in shown
    assert "max_in_flight = 512  (default; INFERFLOW_MAX_IN_FLIGHT)" in shown
    assert "Not used: a plan lives as long as its config." in shown
    assert "password = ***" in shown
    assert "hush" not in shown
    assert shown.index("[serve]") < shown.index("drain_pause") < shown.index("[telemetry]")


def test_defaults_can_be_left_out(run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_NAME", "shop")
    shown = run("settings", starter, "--changed").stdout
    assert "app_name = shop" in shown
    assert "max_in_flight" not in shown


def test_json_has_every_fact_and_the_warnings(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_MAX_TARGET", "1")
    monkeypatch.setenv("APP_PORT", "7")
    answer = json.loads(run("settings", starter, "--json").stdout)
    by_name = {each["name"]: each for each in answer["settings"]}
    assert by_name["serve.port"] == {
        "name": "serve.port",
        "variables": ["APP_PORT"],
        "value": 7,
        "unit": "",
        "source": "environment APP_PORT",
        "meaning": "gRPC. 0 takes any free port.",
        "unused": "",
    }
    assert [each["where"] for each in answer["warnings"]] == ["INFERFLOW_MAX_TARGET"]


def test_a_misspelt_variable_is_warned_of_on_stderr_by_every_project_command(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_MAX_TARGET", "1")
    for command in (("settings", starter), ("features", "schema", "--dir", starter)):
        result = run(*command)
        assert "warning: INFERFLOW_MAX_TARGET: no such setting" in result.stderr
        assert "warning" not in result.stdout


def test_a_folder_that_is_not_there_is_an_error(run: Run, tmp_path: Path) -> None:
    assert "no such folder" in run("settings", tmp_path / "nowhere", code=1).stderr
