"""What is in etcd alone goes only when somebody says so."""

from __future__ import annotations

import pytest

from inferflow.app.pushing.outcome import Outcome
from inferflow.cli.progress import LoadingBar
from inferflow.cli.push import _may_delete

SPARE = [Outcome("configs", "older", "differs", "only in etcd")]


def test_where_nobody_can_answer_it_is_shown_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert _may_delete(LoadingBar(), SPARE, yes=False) is False
    shown = capsys.readouterr()
    assert shown.err == "configs  older: only in etcd\n--yes deletes them\n"
    assert shown.out == ""


def test_yes_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert _may_delete(LoadingBar(), SPARE, yes=True) is True
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("answer", [True, False])
def test_somebody_at_a_terminal_is_asked(answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked: list[str] = []

    def confirm(question: str, *, err: bool) -> bool:
        asked.append(question)
        return answer and err

    monkeypatch.setattr("typer.confirm", confirm)
    assert _may_delete(LoadingBar(), SPARE, yes=False) is answer
    assert asked == ["Delete 1 from etcd?"]
