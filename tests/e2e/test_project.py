"""A project from its first minute: init, validate, score, change, test."""

from __future__ import annotations

import json

from .conftest import Shell


def test_a_new_project_is_scored_changed_and_scored_again(shell: Shell) -> None:
    hints = shell("inferflow init shop").stdout
    for hint in [line.strip() for line in hints.splitlines() if line.startswith("  inferflow ")]:
        shell(hint)
    ask = "inferflow score ranker --dir shop --request shop/requests/ranker.json --json"
    before = json.loads(shell(ask).stdout)

    shell(
        "sed -i 's/^pick: .*/pick: like * (1 + 0 * likes_new * years_old)/' shop/expressions.yaml"
    )
    after = json.loads(shell(ask).stdout)
    assert after["ranking"] != before["ranking"]
    assert after["columns"]["pick:score"] == after["columns"]["like_model:like"]
    assert after["config_version"] != before["config_version"]
    assert "pick:score[0]" in shell("inferflow test shop", code=1).stdout

    shell("sed -i 's/book:facts:rating: FP32/book:facts:ratin: FP32/' shop/configs/ranker.yaml")
    assert "closest: 'book:facts:rating'" in shell("inferflow validate shop", code=1).stdout
    assert "book:facts:rating" in shell(ask, code=1).stderr


def test_features_that_change_change_the_scores(shell: Shell) -> None:
    shell("inferflow init shop")
    ask = "inferflow score ranker --dir shop --entity user=ada --entity book=1,2 --json"
    before = json.loads(shell(ask).stdout)["columns"]["pick:score"]
    shell("inferflow features put book 2 price=99 --dir shop")
    after = json.loads(shell(ask).stdout)["columns"]["pick:score"]
    assert after[0] == before[0]
    assert after[1] < before[1]
    shell("sed -i 's/^1,The Salt Road,9.5/1,The Salt Road,99/' shop/features/book.facts.csv")
    last = json.loads(shell(ask).stdout)["columns"]["pick:score"]
    assert last[0] < before[0]


def test_a_read_only_project_is_scored_and_left_alone(shell: Shell) -> None:
    shell("inferflow init shop && chmod -R a-w shop")
    try:
        shell("inferflow test shop")
        shell("inferflow score ranker --dir shop --entity user=ada --entity book=1")
        assert ".inferflow" not in shell("ls -a shop").stdout
    finally:
        shell("chmod -R u+w shop")


def test_a_reader_that_leaves_early_gets_no_traceback(shell: Shell) -> None:
    shell("inferflow init shop")
    done = shell("inferflow explain ranker --dir shop --json | head -n 1")
    assert done.stdout == "{\n"
    assert "Exception ignored" not in done.stderr
