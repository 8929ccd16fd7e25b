"""Looks for secrets in every file of the repository: `python -m tests.secret_scan`.

Known by their form, so nothing has to be asked of anybody, and nothing is found that merely looks
random. Made-up ones, as in tests, are told from real ones by having few distinct characters.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

FORMS = {
    # Each begins with a literal text, which makes looking for it fast; the group is the secret.
    "API key of Inferflow": r"ifk_[0-9a-f]{12}_([A-Za-z0-9_-]{43})",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([A-Za-z0-9+/=]{40,})",
    "AWS key": r"A[KS]IA([0-9A-Z]{16})\b",
    "GitHub token": r"gh[pousr]_([A-Za-z0-9]{36,})\b",
    "GitLab token": r"glpat-([A-Za-z0-9_-]{20,})\b",
    "Slack token": r"xox[abeoprs]-([A-Za-z0-9-]{20,})\b",
    "Google API key": r"AIza([A-Za-z0-9_-]{35})\b",
    "npm token": r"npm_([A-Za-z0-9]{36})\b",
    "PyPI token": r"pypi-(AgE[A-Za-z0-9_-]{50,})\b",
    "signed token": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ([A-Za-z0-9_-]{16,})\.[A-Za-z0-9_-]{16,}",
}
FEWEST_DISTINCT = 10
LARGEST = 2_000_000

_FORMS = {kind: re.compile(form) for kind, form in FORMS.items()}


def files() -> Iterator[Path]:
    """What is in the repository, or would be."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        path = ROOT / name
        if path.is_file() and path.stat().st_size < LARGEST:
            yield path


def findings(paths: Iterable[Path]) -> Iterator[str]:
    """Each as `file:line: what`; never the secret itself."""
    for path in paths:
        text = path.read_text("utf-8", errors="ignore")
        for kind, form in _FORMS.items():
            for found in form.finditer(text):
                if len(set(found[1])) >= FEWEST_DISTINCT:
                    line = text.count("\n", 0, found.start()) + 1
                    yield f"{path}:{line}: {kind}"


def main() -> int:
    found = list(findings(files()))
    for each in found:
        sys.stdout.write(f"{each}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
