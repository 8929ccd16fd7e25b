"""What is in etcd and not in a project's folder, taken away: configs, then expressions.

Nothing else is ever deleted: rows and model versions may be in use whatever a folder says. A part
of which the folder has nothing is left alone, for that is more often the wrong folder than a wish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from inferflow.app.config_stores import open_configs, open_etcd
from inferflow.app.etcd_expressions import expression_key, read_expressions
from inferflow.app.expression_files import ExpressionFiles
from inferflow.app.project import EXPRESSIONS_FILE, Project
from inferflow.app.pushing.outcome import Outcome, Part
from inferflow.app.settings import Settings
from inferflow.configstore.folder import read_folder
from inferflow.rpc.etcd import Delete, EtcdClient, Same, prefix_end

PRUNED: tuple[Part, ...] = ("configs", "expressions")
"""In the order in which they are taken away: what needs others goes first."""


@dataclass(frozen=True, slots=True)
class Spare:
    """A piece that is in etcd alone."""

    part: Part
    name: str


class Pruning:
    """Raises what etcd's client raises."""

    def __init__(self, project: Project, settings: Settings) -> None:
        self._project = project
        self._settings = settings
        self._app = settings.telemetry.app_name

    def spare(self, part: Part) -> list[Spare]:
        """What would be deleted of a part; nothing when the folder has nothing of it."""
        here, there = self._configs() if part == "configs" else self._expressions()
        return [Spare(part, name) for name in sorted(there - here)] if here else []

    def delete(self, spare: Sequence[Spare]) -> Iterator[Outcome]:
        """Each only if it is still as it was when its key was looked at."""
        gone: list[str] = []
        with closing(open_etcd(self._settings)) as etcd:
            for each in spare:
                outcome = self._deleted(etcd, each)
                if outcome.state == "deleted" and each.part == "configs":
                    gone.append(each.name)
                yield outcome
        if gone:
            with closing(open_configs(self._project.root, self._settings)) as store:
                store.accept((), gone)

    def _configs(self) -> tuple[set[str], set[str]]:
        folder = read_folder(self._project.root / "configs")
        with closing(open_configs(self._project.root, self._settings)) as store:
            there = store.current()
        here = {*folder.documents, *(broken.id for broken in folder.unreadable)}
        return here, {*there.documents, *(broken.id for broken in there.unreadable)}

    def _expressions(self) -> tuple[set[str], set[str]]:
        file = self._project.root / EXPRESSIONS_FILE
        here = {str(name) for name in ExpressionFiles(file).read().sources} if file.exists() else ()
        with closing(open_etcd(self._settings)) as etcd:
            there, _ = read_expressions(etcd, self._app)
        return set(here), {*there.sources, *there.unreadable}

    def _deleted(self, etcd: EtcdClient, spare: Spare) -> Outcome:
        keys = self._keys(etcd, spare)
        if not keys:
            text = "it shares a key with others; take it out there"
            return Outcome(spare.part, spare.name, "refused", text)
        unchanged = [Same(key, revision) for key, revision in keys.items()]
        if not etcd.change(unchanged, [Delete(key) for key in keys]):
            text = "somebody else changed it meanwhile; push again"
            return Outcome(spare.part, spare.name, "refused", text)
        return Outcome(spare.part, spare.name, "deleted", "deleted, for the folder has none")

    def _keys(self, etcd: EtcdClient, spare: Spare) -> dict[bytes, int]:
        """Those that hold a piece and nothing else, with the revision each was written at."""
        from inferflow.configstore.etcd import Layout

        if spare.part == "expressions":
            key = expression_key(self._app, spare.name)
            found = etcd.get(key)
            return {} if found is None else {key: found.revision}
        layout = Layout(self._app)
        start = layout.configs.encode()
        listing = etcd.listing(start, prefix_end(start), keys_only=True)
        held = {key: layout.parse(key.decode(errors="backslashreplace")) for key in listing.entries}
        return {
            key: listing.entries[key].revision
            for key, about in held.items()
            if about is not None and about.kind in ("config", "part") and about.id == spare.name
        }
