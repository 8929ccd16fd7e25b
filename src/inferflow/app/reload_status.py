"""What a reload has led to, and how each config stands: for people, metrics and health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from inferflow.app.livebook import Book
from inferflow.app.project import Finding
from inferflow.configstore import Served, Version
from inferflow.plan.problems import Problem

State = Literal["serving", "last good", "refused"]


@dataclass(frozen=True, slots=True)
class ConfigStatus:
    """How one config stands."""

    id: str
    file: str
    state: State
    """It serves as it is written, as it was when it was last good, or not at all."""
    version: int
    """Number of the version that serves; 0 when none does."""
    hash: str
    """Of that version's text."""
    plan: str
    """Digest of its plan, which covers schema, expressions and models too. Answers carry it."""
    accepted_ms: int
    """When it was taken up, in milliseconds since the epoch."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the config as it is written now, notes included."""
    origin: str = ""
    """How the version that serves came: a push, a rollback, or an edit of the folder."""
    author: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Reload:
    """What one look has led to."""

    changed: tuple[str, ...] = ()
    """Ids that another plan serves than before, or one for the first time."""
    refused: tuple[str, ...] = ()
    """Ids that are written in a way that cannot serve."""
    removed: tuple[str, ...] = ()
    """Ids that no longer serve."""
    findings: tuple[Finding, ...] = ()
    """Every problem of the project as it is written now."""

    @classmethod
    def between(cls, old: Book, new: Book, findings: Sequence[Finding]) -> Reload:
        return cls(
            changed=tuple(
                config_id
                for config_id in new.ids
                if new.live.get(config_id) is not old.live.get(config_id)
                or new.splits.get(config_id) != old.splits.get(config_id)
            ),
            refused=tuple(each for each, result in new.status.items() if result.errors),
            removed=tuple(each for each in old.ids if each not in new.ids),
            findings=tuple(findings),
        )


def status_of(
    config_id: str,
    file: str,
    book: Book,
    served: Mapping[str, Served],
    came: Version | None,
) -> ConfigStatus:
    """`came` is the version that serves, where that is known."""
    tried = book.status[config_id]
    record = served.get(config_id)
    if config_id not in book.ids or record is None:
        return ConfigStatus(config_id, file, "refused", 0, "", "", 0, tried.problems)
    scorer = book.live.get(config_id)
    return ConfigStatus(
        config_id,
        file,
        "last good" if tried.errors else "serving",
        record.version,
        record.text,
        "" if scorer is None else scorer.plan.digest,
        record.accepted_ms,
        tried.problems,
        "" if came is None else came.origin,
        "" if came is None else came.author,
    )


def last_good_remarks(
    book: Book, served: Mapping[str, Served], cannot: Mapping[str, str]
) -> list[Finding]:
    """Says of every refused config what serves in its stead."""
    remarks: list[Finding] = []
    for config_id, tried in book.status.items():
        record = served.get(config_id)
        if not tried.errors or record is None:
            continue
        if config_id in book.ids:
            what = f"its last good version, {record.version}, keeps serving"
        elif config_id in cannot:
            what = f"its last good version, {record.version}, cannot serve: {cannot[config_id]}"
        else:
            continue
        note = Problem("config", what, severity="note")
        remarks.append(Finding(record.file, note, config_id))
    return remarks
