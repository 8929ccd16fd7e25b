"""The scan for secrets finds what it should, and nothing in the repository."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.secret_scan import files, findings

from inferflow.access import mint_key
from inferflow.access.dev_certificates import Authority

RANDOM = "q7Zk2LmN8pRt4VwX6yB1cD3fG5hJ9sA0eUiO"


def test_the_repository_holds_no_secrets() -> None:
    assert list(findings(files())) == []


def test_keys_of_our_own_are_found_and_not_repeated(tmp_path: Path) -> None:
    key = mint_key(secrets.token_bytes).text
    pem = Authority("a", now=datetime.now(UTC), days=1).issued.key.decode()
    (tmp_path / "a.txt").write_text(f"first\nkey = {key}\n{pem}")
    found = list(findings([tmp_path / "a.txt"]))
    assert [each.rpartition(": ")[2] for each in found] == ["API key of Inferflow", "private key"]
    assert ":2:" in found[0]
    assert key not in "".join(found)


@pytest.mark.parametrize("prefix", ["ghp_", "glpat-", "xoxb-"])
def test_tokens_of_others_are_found(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "a.txt").write_text(f"token: {prefix}{RANDOM}\n")
    assert len(list(findings([tmp_path / "a.txt"]))) == 1


def test_made_up_ones_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"ifk_00000000ad01_{'A' * 43}\n")
    assert list(findings([tmp_path / "a.txt"])) == []
