"""Settings of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inferflow.toml").write_text("[serve]\nport = 1\nhttp_port = 2\n")
    monkeypatch.setenv("APP_PORT", "3")
    monkeypatch.setenv("INFERFLOW_DRAIN_PAUSE", "5s")
    serve = read_settings(tmp_path).serve
    assert (serve.port, serve.http_port, serve.drain_pause, serve.max_in_flight) == (
        3,
        2,
        5000,
        512,
    )


@pytest.mark.parametrize("line", ["port = 70000", "prt = 1", "max_in_flight = 0"])
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "inferflow.toml").write_text(f"[serve]\n{line}\n")
    with pytest.raises(InvalidInput, match=line.split(maxsplit=1)[0]):
        read_settings(tmp_path)
