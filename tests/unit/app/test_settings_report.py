"""What `inferflow settings` is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import inferflow
from inferflow.app.settings_reference import page
from inferflow.app.settings_report import odd_variables, settings_report, shown

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), (
        "run: python -m inferflow.app.settings_reference docs/reference/settings.md"
    )


def test_a_value_comes_with_the_place_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inferflow.toml").write_text(
        "[serve]\nport = 1\n[service]\nv2-logging-type='arrow'"
    )
    monkeypatch.setenv("INFERFLOW_HTTP_PORT", "2")
    monkeypatch.delenv("APP_PORT", raising=False)
    report = {
        each.name: (each.value, each.source)
        for each in settings_report(tmp_path, {"INFERFLOW_HTTP_PORT": "2"})
    }
    assert report["serve.port"] == (1, "inferflow.toml")
    assert report["serve.http_port"] == (2, "environment INFERFLOW_HTTP_PORT")
    assert report["serve.max_in_flight"] == (512, "default")
    assert report["service.v2_logging_type"] == ("arrow", "inferflow.toml")


def test_a_secret_is_stars_and_an_empty_one_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_PASSWORD", "hush")
    report = {each.name: each.value for each in settings_report(tmp_path, {})}
    assert report["etcd.password"] == "***"
    assert report["numerix.auth_token"] == ""


def test_a_table_inside_a_setting_is_shown_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text("[worker.models.ranker]\nmax_batch = 8\n")
    report = {each.name: each.value for each in settings_report(tmp_path, {})}
    assert report["worker.models"] == {"ranker": {"max_batch": 8}}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("http://me:hush@etcd:2379/a", "http://me:***@etcd:2379/a"),
        ("http://me:h@sh@etcd:2379", "http://me:***@etcd:2379"),
        ("https://token@etcd", "https://***@etcd"),
        ("a:1,redis://:hush@b:2,c:3", "a:1,redis://:***@b:2,c:3"),
        ("http://etcd:2379/@home", "http://etcd:2379/@home"),
        ("me@example.org", "me@example.org"),
    ],
)
def test_only_the_credential_of_a_url_is_masked(text: str, wanted: str) -> None:
    assert shown(text) == wanted
    assert shown({"a": [text]}) == {"a": [wanted]}


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("INFERFLOW_PROT", "APP_PORT"),
        ("INFERFLOW_MAX_TARGET", "INFERFLOW_MAX_TARGETS"),
        ("externalServiceOnFs_hots", "externalServiceOnFs_host"),
        ("NUMERIX_CLIENT_V1_HOTS", "NUMERIX_CLIENT_V1_HOST"),
    ],
)
def test_a_misspelt_variable_is_told_with_the_nearest_one(variable: str, nearest: str) -> None:
    (odd,) = odd_variables({variable: "1"})
    assert (odd.where, odd.hint) == (variable, f"closest: {nearest!r}")


def test_variables_of_others_and_known_ones_are_not_odd() -> None:
    known = {"INFERFLOW_DEBUG": "1", "inferflow_bind": "x", "ETCD_NAME": "n", "PATH": "p"}
    assert list(odd_variables(known)) == []


def test_a_second_variable_that_says_something_else_is_told() -> None:
    (odd,) = odd_variables({"KafkaLoggingTopic": "a", "KAFKA_LOGGING_TOPIC": "b"})
    assert odd.where == "KAFKA_LOGGING_TOPIC"
    assert list(odd_variables({"KafkaLoggingTopic": "a", "KAFKA_LOGGING_TOPIC": "a"})) == []


def test_opening_a_project_warns_of_a_misspelt_variable(
    echo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_MAX_TARGET", "1")
    with pytest.warns(UserWarning, match="INFERFLOW_MAX_TARGETS"):
        inferflow.open(echo).close()
