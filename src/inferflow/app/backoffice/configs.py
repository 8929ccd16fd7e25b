"""Configs as they are, were and might be: the same store and the same checks as on the command
line.

How configs stand is asked of whoever serves them; their texts and versions of the store. What is
only looked at is tried on a bench; a push opens the project anew, as one from anywhere would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from inferflow.api.gateway.management.ports import Text
from inferflow.app.backoffice.bench import Benches
from inferflow.app.backoffice.pages import ServerPages
from inferflow.app.backoffice.trying import tried
from inferflow.app.config_stores import open_configs
from inferflow.app.golden import Outcome
from inferflow.app.publish import Published, only_document, push, roll_back
from inferflow.app.settings import read_settings
from inferflow.configstore import ConfigStore, Document, Version, difference, find_version
from inferflow.errors import InvalidInput, NotFound, PlanRejected
from inferflow.plan.positions import Located, Positions, failed_at
from inferflow.plan.problems import Problem, nearest

Facts = dict[str, Any]
T = TypeVar("T")


class ProjectConfigs:
    """Implements `api.gateway.management.ports.Configs` for one project."""

    def __init__(
        self,
        root: Path,
        overrides: Mapping[str, Any] | None,
        benches: Benches,
        servers: ServerPages,
    ) -> None:
        self._root = root
        self._overrides = overrides
        self._benches = benches
        self._servers = servers

    async def statuses(self) -> list[Facts]:
        return await self._servers.configs()

    async def get(self, config_id: str) -> Facts:
        status = _only(await self._servers.configs(), config_id)
        return {"status": status, **await self._asked(lambda store: _written(store, config_id))}

    async def plan(self, config_id: str) -> Facts:
        bench = await asyncio.to_thread(self._benches.bench)
        return bench.document(bench.book.get(config_id).plan)

    async def validate(self, written: Text, config_id: str) -> Facts:
        return await asyncio.to_thread(self._validated, written, config_id)

    async def check(self, config_id: str, written: Text) -> Facts:
        return await asyncio.to_thread(self._checked, config_id, written)

    async def publish(
        self,
        config_id: str,
        written: Text,
        *,
        author: str,
        expected: int | None,
        note: str,
        force: bool,
    ) -> Facts:
        def publish() -> Facts:
            with _locating(written, config_id):
                done = push(
                    self._root,
                    written.text,
                    written.format,
                    author=author,
                    config_id=config_id,
                    expected=expected,
                    force=force,
                    note=note,
                    overrides=self._overrides,
                )
            return _published(done, written)

        return await asyncio.to_thread(publish)

    async def history(self, config_id: str) -> list[Facts]:
        def history(store: ConfigStore) -> list[Facts]:
            versions = store.history(config_id)
            if not versions:
                store.get(config_id)  # says so when there is no such config at all
            newest = versions[-1].number if versions else 0
            return [version_facts(each, newest) for each in reversed(versions)]

        return await self._asked(history)

    async def version(self, config_id: str, number: int) -> Facts:
        def version(store: ConfigStore) -> Facts:
            history = store.history(config_id)
            found = find_version(config_id, history, number)
            text = "" if found.is_removal else store.text(found)
            facts = version_facts(found, history[-1].number)
            return {"version": facts, "text": text, "format": found.format}

        return await self._asked(version)

    async def difference(self, config_id: str, old: int, new: int) -> Facts:
        def compare(store: ConfigStore) -> Facts:
            history = store.history(config_id)
            pair = [find_version(config_id, history, number) for number in (old, new)]
            first, second = ("" if each.is_removal else store.text(each) for each in pair)
            found = difference(first, second, old_name=pair[0].label, new_name=pair[1].label)
            return {"from": old, "to": new, "lines": found.splitlines()}

        return await self._asked(compare)

    async def roll_back(
        self, config_id: str, *, author: str, to: int | None, expected: int | None
    ) -> Facts:
        def back() -> Facts:
            done = roll_back(
                self._root,
                config_id,
                to,
                author=author,
                expected=expected,
                overrides=self._overrides,
            )
            return _published(done, None)

        return await asyncio.to_thread(back)

    async def _asked(self, ask: Callable[[ConfigStore], T]) -> T:
        """What the store says, in a thread: it may be on another host."""

        def asked() -> T:
            with self._store() as store:
                return ask(store)

        return await asyncio.to_thread(asked)

    def _store(self) -> closing[ConfigStore]:
        return closing(open_configs(self._root, read_settings(self._root, self._overrides)))

    # --- looking at a text ------------------------------------------------------------------

    def _validated(self, written: Text, config_id: str) -> Facts:
        try:
            document = _document(written, config_id)
        except InvalidInput as refused:
            return _refused(refused, config_id)
        bench = self._benches.bench()
        compiled = bench.compiled(document.id, document.content)
        plan = None if compiled.errors or compiled.plan is None else compiled.plan
        return {
            "ok": not compiled.errors,
            "id": document.id,
            "problems": _located(compiled.problems, written, document.id),
            "plan": None if plan is None else bench.document(plan),
        }

    def _checked(self, config_id: str, written: Text) -> Facts:
        try:
            document = _document(written, config_id)
        except InvalidInput as refused:
            return {**_refused(refused, config_id), "golden": [], "diff": []}
        bench = self._benches.bench()
        with self._store() as store:
            there = store.current().documents.get(config_id)
        before = "" if there is None else there.text
        diff = difference(before, written.text, old_name="as it is", new_name="as written here")
        compiled = bench.compiled(document.id, document.content)
        outcomes = [] if compiled.errors else tried(bench, compiled)
        return {
            "ok": not compiled.errors and all(each.passed for each in outcomes),
            "id": document.id,
            "problems": _located(compiled.problems, written, document.id),
            "golden": [golden_facts(each) for each in outcomes],
            "diff": diff.splitlines(),
        }


def version_facts(version: Version, newest: int) -> Facts:
    facts = asdict(version)
    del facts["id"], facts["format"]
    is_current = version.number == newest
    return {**facts, "is_removal": version.is_removal, "is_current": is_current}


def golden_facts(outcome: Outcome) -> Facts:
    return {
        "request": outcome.request,
        "passed": outcome.passed,
        "difference": outcome.worst if outcome.columns else None,
        "detail": outcome.why,
    }


def _published(done: Published, written: Text | None) -> Facts:
    notes = [asdict(Located(**asdict(note))) for note in done.notes]
    if written is not None:
        notes = _located(done.notes, written, done.version.id)
    return {
        "version": version_facts(done.version, done.version.number),
        "golden": [golden_facts(each) for each in done.outcomes],
        "notes": notes,
    }


def _document(written: Text, config_id: str) -> Document:
    document = only_document(written.text, written.format, config_id)
    if config_id and document.id != config_id:
        raise InvalidInput(f"the text holds {document.id!r}, not {config_id!r}")
    return document


def _refused(refused: InvalidInput, config_id: str) -> Facts:
    """A text that is no config at all."""
    at = failed_at(refused)
    place = {} if at is None else asdict(at)
    problem = asdict(Located("file", str(refused), **place))
    return {"ok": False, "id": config_id, "problems": [problem], "plan": None}


def _located(problems: Sequence[Problem], written: Text, config_id: str) -> list[Facts]:
    positions = Positions(written.text, config_id)
    return [asdict(positions.located(each)) for each in problems]


@contextmanager
def _locating(written: Text, config_id: str) -> Iterator[None]:
    """What is rejected inside says where in the text."""
    try:
        yield
    except PlanRejected as rejected:
        positions = Positions(written.text, config_id)
        problems = [
            positions.located(each) if isinstance(each, Problem) else each
            for each in rejected.problems
        ]
        raise PlanRejected(rejected.config_id, problems) from rejected


def _written(store: ConfigStore, config_id: str) -> Facts:
    """The text as it is written now, also when it cannot be read as a config."""
    folder = store.current()
    versions = store.history(config_id)
    number = versions[-1].number if versions else 0
    document = folder.documents.get(config_id)
    if document is not None:
        facts = {"text": document.text, "format": document.format, "hash": document.hash}
        return {**facts, "version": number}
    for broken in folder.unreadable:
        if broken.id == config_id and broken.text is not None:
            is_json = broken.file.endswith(".json")
            text = {"text": broken.text, "format": "json" if is_json else "yaml"}
            return {**text, "version": number, "hash": ""}
    store.get(config_id)
    raise NotFound("model config", config_id)


def _only(statuses: Sequence[Facts], config_id: str) -> Facts:
    for status in statuses:
        if status["id"] == config_id:
            return status
    known = [status["id"] for status in statuses]
    raise NotFound("model config", config_id, nearest=nearest(config_id, known))
