"""Looks up known vulnerabilities of all that is installed: `python -m tests.dependency_audit`.

Ends with 0 only when every pinned package was looked up by services that answer and know something:
one that is away, skips packages, or does not even know of the canary is no good news. 1: there are
vulnerabilities. 2: it could not be found out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PINNED = ROOT / "requirements" / "dev.txt"
PAGES = ROOT / "ui"
CANARY = "jinja2==2.4.1"
"""Has been known to be vulnerable for years."""

Run = Callable[[Sequence[str], Path], str]
"""A command and a folder; what it printed."""


@dataclass
class Findings:
    asked: int = 0
    vulnerable: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Why something could not be found out."""

    @property
    def code(self) -> int:
        return 2 if self.unknown else int(bool(self.vulnerable))


def audit(run: Run, *, has_npm: bool) -> Findings:
    found = Findings()
    packages = _packages(run, ["--require-hashes", "-r", str(PINNED)], found)
    if packages and not _knows_the_canary(run):
        found.unknown.append(f"the advisory service knows nothing: not even of {CANARY}")
    if has_npm:
        _pages(run, found)
    else:
        found.unknown.append("npm is not installed, so the web pages were not looked up")
    return found


def _packages(run: Run, arguments: Iterable[str], found: Findings) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--format", "json"]
    answer = _json(run([*command, "--progress-spinner", "off", *arguments], ROOT))
    packages: list[dict[str, Any]] = answer.get("dependencies", [])
    if not packages:
        found.unknown.append("pip-audit gave no answer; is there a way to the advisory service?")
    skipped = [each for each in packages if "skip_reason" in each]
    if skipped:
        first = skipped[0]["skip_reason"]
        found.unknown.append(f"{len(skipped)} packages could not be looked up: {first}")
    found.asked += len(packages) - len(skipped)
    for each in packages:
        for vuln in each.get("vulns", ()):
            mended = ", ".join(vuln.get("fix_versions", ())) or "no version yet"
            found.vulnerable.append(
                f"{each['name']} {each['version']}: {vuln['id']}, mended by {mended}"
            )
    return packages


def _knows_the_canary(run: Run) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "canary.txt"
        file.write_text(f"{CANARY}\n", encoding="utf-8")
        about = Findings()
        _packages(run, ["--no-deps", "-r", str(file)], about)
    return bool(about.vulnerable)


def _pages(run: Run, found: Findings) -> None:
    answer = _json(run(["npm", "audit", "--omit=dev", "--json"], PAGES))
    if "metadata" not in answer:
        why = answer.get("message", "no answer")
        found.unknown.append(f"packages of the web pages could not be looked up: {why}")
        return
    found.asked += int(answer["metadata"].get("dependencies", {}).get("prod", 0))
    for name, facts in answer.get("vulnerabilities", {}).items():
        found.vulnerable.append(f"{name} {facts.get('range', '')}: {facts.get('severity', '')}")


def _json(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _run(command: Sequence[str], folder: Path) -> str:
    """Only what was printed counts: exit codes of these tools mean several things."""
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return done.stdout.decode("utf-8", "replace")


def main() -> int:
    found = audit(_run, has_npm=shutil.which("npm") is not None)
    for each in found.vulnerable:
        print("vulnerable:", each)  # noqa: T201
    for each in found.unknown:
        print("not audited:", each)  # noqa: T201
    print(f"{found.asked} packages looked up, {len(found.vulnerable)} known vulnerabilities")  # noqa: T201
    return found.code


if __name__ == "__main__":
    sys.exit(main())
