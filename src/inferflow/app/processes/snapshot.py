"""What is accepted: every live config, with the very texts and models it was found good with.

One small file, the head, names all of it by hashes, and is replaced whole. The texts it names
are kept before it is written, so whoever reads it finds everything it speaks of, whichever
moment the writer died in. Its own hash is the snapshot's version.

A server has a folder for it that nobody else writes to and that goes when it ends; of servers
that were killed, the next one tidies up.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from inferflow.app.pinned import ModelPin
from inferflow.configstore import Served, content_hash
from inferflow.configstore.atomic import write_whole
from inferflow.configstore.lock import locked
from inferflow.errors import ConfigStoreBusy, ConfigStoreFailed
from inferflow.plan.problems import Problem

_HEAD = "head.json"
_LOCK = "lock"
_PREFIX = "run-"


@dataclass(frozen=True, slots=True)
class Accepted:
    """One config that serves."""

    served: Served
    models: tuple[ModelPin, ...] = ()
    plan: str = ""
    """Digest of its plan; none of a split."""


@dataclass(frozen=True)
class Snapshot:
    configs: Mapping[str, Accepted] = field(default_factory=dict)
    refused: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    """Configs that do not serve, and why: callers are told that, and not that there is no such
    config."""
    service: Mapping[str, Any] = field(default_factory=dict)
    """How log messages are written; nothing where the settings say it."""

    @cached_property
    def text(self) -> str:
        fields = {
            "configs": {each: asdict(self.configs[each]) for each in sorted(self.configs)},
            "refused": {
                each: [problem.as_dict() for problem in self.refused[each]]
                for each in sorted(self.refused)
            },
            "service": dict(self.service),
        }
        return json.dumps(fields, indent=1)

    @cached_property
    def version(self) -> str:
        return content_hash(self.text)

    @classmethod
    def parse(cls, text: str) -> Snapshot:
        """Raises ConfigStoreFailed when this is no snapshot."""
        try:
            fields = json.loads(text)
            return cls(
                {each: _accepted(one) for each, one in fields["configs"].items()},
                {
                    each: tuple(Problem(**problem) for problem in problems)
                    for each, problems in fields["refused"].items()
                },
                dict(fields["service"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as broken:
            raise ConfigStoreFailed(f"{_HEAD}: {broken}") from broken


def _accepted(fields: Mapping[str, Any]) -> Accepted:
    pins = tuple(ModelPin(**pin) for pin in fields["models"])
    return Accepted(Served(**fields["served"]), pins, fields["plan"])


def write_head(home: Path, snapshot: Snapshot) -> None:
    """Make this the snapshot that is accepted. Raises ConfigStoreFailed; the old one stays then."""
    try:
        write_whole(home / _HEAD, snapshot.text)
    except OSError as failed:
        raise ConfigStoreFailed(f"{_HEAD}: {failed}") from failed


def read_head(home: Path) -> Snapshot:
    try:
        return Snapshot.parse((home / _HEAD).read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError) as failed:
        raise ConfigStoreFailed(f"{_HEAD}: {failed}") from failed


@contextmanager
def snapshot_home(parent: Path) -> Iterator[Path]:
    """A folder of one's own among those of other servers, gone when the block is left."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(parent)
        home = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    except OSError as failed:
        raise ConfigStoreFailed(f"{parent.name}: {failed}") from failed
    try:
        with locked(home / _LOCK, timeout_s=0):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _clear_abandoned(parent: Path) -> None:
    """Delete folders whose server is gone: it held a lock for as long as it lived."""
    for home in parent.glob(f"{_PREFIX}*"):
        # Without a lock file its server has only just begun, or is being tidied up after.
        if (home / _LOCK).exists():
            with suppress(ConfigStoreBusy, FileNotFoundError), locked(home / _LOCK, timeout_s=0):
                shutil.rmtree(home, ignore_errors=True)
