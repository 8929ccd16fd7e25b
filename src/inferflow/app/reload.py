"""Takes up what changed in a project while it serves.

`check_now` looks at configs, feature schema, expressions and model files. What changed is
compiled and prepared beside what is at work; then one assignment swaps the whole book. A request
takes its scorer once, at its start, so it is answered by one version, before or after.

A config that is no good is refused with its problems, and its last good plan keeps serving, also
after a restart. Nothing that is wrong with one config touches another.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inferflow.app.catalog import ProjectCatalog
from inferflow.app.lastgood import LastGood
from inferflow.app.livebook import Book, open_book
from inferflow.app.project import Finding, FolderInputs, Inputs, Project, WrittenConfig
from inferflow.app.project_models import remote_endpoints
from inferflow.app.reload_status import ConfigStatus, Reload, last_good_remarks, status_of
from inferflow.app.sources import Sources, look
from inferflow.app.wiring import Embedded, check_arms, findings_of
from inferflow.app.world import World, first_world, next_world
from inferflow.configstore import ConfigStore, Document, Served, ServedStore, Version
from inferflow.errors import ConfigStoreBusy, ConfigStoreFailed
from inferflow.plan.book import PlanBook
from inferflow.plan.catalog import Endpoint
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.problems import Problem

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen, and what was made of it."""

    sources: Sources
    world: World
    compiled: Mapping[str, Compiled]
    asked: Mapping[str, frozenset[Endpoint]]
    """Per config, the models on other hosts that it was checked against."""


class Reloader:
    """Keeps an open project up to date. Its owner calls `check_now`, from any thread."""

    def __init__(
        self,
        embedded: Embedded,
        configs: ConfigStore,
        served: ServedStore,
        *,
        inputs: Inputs | None = None,
        beside: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.time,
        tell: Callable[[Reload], None] = lambda _: None,
    ) -> None:
        """`inputs` is where schema and expressions are from; the project's folder when not given.
        `beside` is called with every look, for what is followed too and is no config."""
        self._embedded = embedded
        self._configs = configs
        self._beside = beside
        self._inputs = inputs or FolderInputs(embedded.project.root)
        self._now = now
        self._tell = tell
        self._turn = threading.RLock()  # a listener may ask what serves
        self._served_store = served
        self._served: Mapping[str, Served] = served.read()
        self._last: _Look | None = None
        self._status: tuple[ConfigStatus, ...] = ()

    @property
    def configs(self) -> ConfigStore:
        """Where the configs are from."""
        return self._configs

    def status(self) -> tuple[ConfigStatus, ...]:
        """Every config by id, as of the last look."""
        return self._status

    def close(self) -> None:
        """Leave the config store, and where the rest is from."""
        self._configs.close()
        self._inputs.close()

    def show(self, see: Callable[[Mapping[str, Served], Book], None]) -> None:
        """Let `see` have what serves, and the records of it, while neither can change."""
        with self._turn:
            book = self._embedded.book
            see({each: self._served[each] for each in book.ids if each in self._served}, book)

    def check_now(self) -> Reload:
        """Look, and take up what is good. Quiet when nothing changed since the last look.

        Raises ConfigStoreFailed when versions cannot be recorded; what serves then stays.
        """
        remote = self._embedded.models.recheck(self._endpoints())
        with self._turn:
            self._beside()
            for _ in range(_ATTEMPTS):
                sources = look(
                    self._embedded.project.root, self._configs, remote, inputs=self._inputs
                )
                if self._last is not None and sources == self._last.sources:
                    return Reload(findings=tuple(self._embedded.findings))
                done = self._take_up(sources)
                if done is not None:
                    self._tell(done)
                    return done
        raise ConfigStoreBusy("configs change faster than they can be taken up")

    def _take_up(self, sources: Sources) -> Reload | None:
        """None when configs were changed again before their versions could be recorded."""
        embedded, findings = self._embedded, list(sources.findings)
        last_good = LastGood(self._served, self._served_store)
        before = first_world(embedded, last_good) if self._last is None else self._last.world
        world = next_world(before, sources, embedded, findings)
        compiled, asked = self._compile(sources, world)
        checked = {**check_arms(compiled), **self._unreadable(sources)}
        last, cannot = embedded.book, dict[str, str]()
        if self._last is None:
            failed = {each: result for each, result in checked.items() if result.errors}
            restored, cannot = last_good.restore(failed, embedded)
            last = _together(last, restored)
        book = open_book(
            checked,
            embedded.ports(world.store, world.expressions),
            embedded.settings.limits,
            last=last,
            observer=embedded.observer,
        )
        good = [
            document
            for config_id, document in sources.configs.documents.items()
            if not book.status[config_id].errors
        ]
        known = [each.id for each in self._configs.versions() if not each.is_removal]
        if not self._configs.accept(good, [each for each in known if each not in checked]):
            return None
        served = self._next_served(world, checked, good)
        if served != self._served:
            self._served_store.write(served)
        old, project = embedded.book, _project(embedded.project, sources, world, findings)
        embedded.project, embedded.store = project, world.store
        embedded.findings = [
            *findings_of(project, book),
            *last_good_remarks(book, served, cannot),
        ]
        embedded.book = book
        self._last, self._served = _Look(sources, world, compiled, asked), served
        files = _files(sources, served)
        came = self._came(served)
        self._status = tuple(
            status_of(each, files.get(each, ""), book, served, came.get(each))
            for each in sorted(checked)
        )
        return Reload.between(old, book, embedded.findings)

    # --- compiling --------------------------------------------------------------------------

    def _endpoints(self) -> set[Endpoint]:
        """Models on other hosts that configs name, whether or not they could be used."""
        if self._last is None:
            return remote_endpoints(scorer.plan for scorer in self._embedded.book.live.values())
        return set().union(*self._last.asked.values())

    def _compile(
        self, sources: Sources, world: World
    ) -> tuple[dict[str, Compiled], dict[str, frozenset[Endpoint]]]:
        """Every config that can be read, and which remote models it names. What met the same
        world before is not compiled again."""
        embedded, last = self._embedded, self._last
        is_same_world = (
            last is not None
            and last.world.store is world.store
            and last.world.expressions is world.expressions
            and last.sources.models == sources.models
            and last.sources.remote == sources.remote
        )
        compiled: dict[str, Compiled] = {}
        asked: dict[str, frozenset[Endpoint]] = {}
        for config_id, document in sources.configs.documents.items():
            if (
                is_same_world
                and last is not None
                and last.sources.configs.documents.get(config_id) == document
            ):
                compiled[config_id] = last.compiled[config_id]
                asked[config_id] = last.asked[config_id]
            else:
                catalog = ProjectCatalog(
                    world.store.schema, embedded.models, world.expressions, embedded.settings
                )
                compiled[config_id] = _compiled(document, catalog)
                asked[config_id] = frozenset(catalog.asked)
        return compiled, asked

    def _unreadable(self, sources: Sources) -> dict[str, Compiled]:
        """Configs whose file cannot be read now. They are not gone: they are refused."""
        files = {config_id: served.file for config_id, served in self._served.items()}
        refused: dict[str, Compiled] = {}
        for each in sources.configs.unreadable:
            in_file = [config_id for config_id, file in files.items() if file == each.file]
            for config_id in in_file or [each.id]:
                if config_id not in sources.configs.documents:
                    problem = Problem("file", each.what)
                    refused[config_id] = Compiled(config_id, None, (problem,))
        return refused

    # --- remembering ------------------------------------------------------------------------

    def _next_served(
        self, world: World, checked: Mapping[str, Compiled], good: list[Document]
    ) -> dict[str, Served]:
        """What is served from now on: good configs as they are, others as they last were."""
        served = {
            config_id: record for config_id, record in self._served.items() if config_id in checked
        }
        keep = self._served_store.texts.keep
        schema = "" if world.schema_text is None else keep(world.schema_text)
        expressions = "" if world.expressions_text is None else keep(world.expressions_text)
        numbers = {(each.id, each.hash): each.number for each in self._configs.versions()}
        now_ms = int(self._now() * 1000)
        for document in good:
            record = Served(
                file=document.file,
                format=document.format,
                text=keep(document.text),
                schema=schema,
                expressions=expressions,
                accepted_ms=now_ms,
                version=numbers.get((document.id, document.hash), 0),
            )
            before = served.get(document.id)
            if before is None or not record.is_like(before):
                served[document.id] = record
        return served

    def _came(self, served: Mapping[str, Served]) -> dict[str, Version]:
        """The versions that serve, as far as they can be told. Most are the newest ones."""
        came: dict[str, Version] = {}
        newest = {each.id: each for each in self._configs.versions()}
        for config_id, record in served.items():
            version = newest.get(config_id)
            if version is None or version.number != record.version:
                try:
                    history = self._configs.history(config_id)
                except ConfigStoreFailed:  # away; who pushed is not worth stopping for
                    continue
                version = {each.number: each for each in history}.get(record.version)
            if version is not None:
                came[config_id] = version
        return came


def _compiled(document: Document, catalog: ProjectCatalog) -> Compiled:
    try:
        return compile_config(document.id, document.content, catalog)
    # A fault of ours on one config must not keep the others from being taken up.
    except Exception as fault:
        problem = Problem("config", f"cannot be compiled: {type(fault).__name__}: {fault}")
        return Compiled(document.id, None, (problem,))


def _files(sources: Sources, served: Mapping[str, Served]) -> dict[str, str]:
    """Where each config is, or should be."""
    return {
        **{each.id: each.file for each in sources.configs.unreadable},
        **{config_id: record.file for config_id, record in served.items()},
        **{each.id: each.file for each in sources.configs.documents.values()},
    }


def _together(book: Book, more: Book) -> Book:
    return PlanBook({**more.live, **book.live}, book.status, {**more.splits, **book.splits})


def _project(before: Project, sources: Sources, world: World, findings: list[Finding]) -> Project:
    unreadable = [
        Finding(each.file, Problem("file", each.what), each.id)
        for each in sources.configs.unreadable
    ]
    return Project(
        before.root,
        world.store.schema,
        world.expressions,
        {each.id: WrittenConfig.of(each) for each in sources.configs.documents.values()},
        [*findings, *unreadable],
    )
