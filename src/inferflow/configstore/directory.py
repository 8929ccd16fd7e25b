"""The config store over a folder: `configs/<id>.json|yaml` is the truth, and people edit it.

History lies elsewhere, under the project's data: `journal.jsonl` with a line per version,
`texts/` with what each said. A push changes the file and the journal under one lock; an edit of
the folder becomes a version when whoever serves it has found it good (`accept`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inferflow.configstore.atomic import clear_leftovers, make_durable, write_whole
from inferflow.configstore.drafts import (
    can_be_a_name,
    check_draft,
    check_push,
    is_recorded,
    next_version,
)
from inferflow.configstore.folder import SUFFIXES, Folder, FolderReader
from inferflow.configstore.journal import Journal
from inferflow.configstore.lock import locked
from inferflow.configstore.pending import Pending, PendingNote
from inferflow.configstore.texts import Texts
from inferflow.configstore.versions import (
    Checks,
    Document,
    Draft,
    Expected,
    Format,
    Version,
    content_hash,
)
from inferflow.errors import ConfigStoreFailed, InvalidInput, NotFound
from inferflow.plan.problems import nearest

LOCK_TIMEOUT_S = 10.0


class DirectoryStore:
    """Implements `port.ConfigStore`. Open as many as you like, in as many processes."""

    def __init__(
        self,
        configs: Path,
        history: Path,
        *,
        now: Callable[[], float] = time.time,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self._configs = configs
        self._folder = FolderReader(configs)
        self._home = history
        self._now = now
        self._lock_timeout_s = lock_timeout_s
        self.texts = Texts(history / "texts")
        self._journal = Journal(history / "journal.jsonl")
        self._pending = PendingNote(history / "pending.json")

    # --- reading ----------------------------------------------------------------------------

    def current(self) -> Folder:
        if not self._home.exists():  # nothing was ever pushed, so nothing can be half-way
            return self._folder.read()
        with self._alone():
            return self._folder.read()

    def get(self, config_id: str) -> Document:
        folder = self.current()
        found = folder.documents.get(config_id)
        if found is not None:
            return found
        for each in folder.unreadable:
            if each.id == config_id:
                raise InvalidInput(f"{each.file}: {each.what}")
        raise NotFound("model config", config_id, nearest=nearest(config_id, folder.documents))

    def history(self, config_id: str) -> Sequence[Version]:
        return self._journal.of(config_id)

    def versions(self) -> Sequence[Version]:
        return [version for _, version in sorted(self._journal.latest().items())]

    def text(self, version: Version) -> str:
        if version.is_removal:
            raise NotFound("text", f"{version.id}@{version.number}")
        return self.texts.get(version.hash)

    def close(self) -> None:
        """Nothing is held open between calls."""

    # --- writing ----------------------------------------------------------------------------

    def push(self, draft: Draft, *, expected: Expected | None = None) -> Version:
        check_draft(draft)
        with self._alone():
            there = self._written(draft.id)
            latest = self._journal.latest().get(draft.id)
            has_edit = check_push(draft, there, latest, expected)
            path = self._file_of(draft, there)
            self._configs.mkdir(parents=True, exist_ok=True)
            if has_edit:
                self._record(there or draft.id, "none", "found in the folder, not checked")
            return self._apply(draft, path, there)

    def accept(self, documents: Collection[Document], gone: Collection[str] = ()) -> bool:
        if not self._unrecorded(documents, gone):
            return True
        with self._alone():
            news = self._unrecorded(documents, gone)
            now = self._folder.read()
            unreadable = {each.id for each in now.unreadable}
            for each in news:
                if isinstance(each, Document):
                    is_as_read = now.documents.get(each.id) == each
                else:
                    is_as_read = each not in now.documents and each not in unreadable
                if not is_as_read:
                    return False
            for each in news:
                self._record(each, "compiled", "edited in the folder: compile checks only")
        return True

    def _unrecorded(
        self, documents: Collection[Document], gone: Collection[str]
    ) -> list[Document | str]:
        latest = self._journal.latest()
        return [
            *(each for each in documents if not is_recorded(each, latest.get(each.id))),
            *(each for each in gone if not is_recorded(None, latest.get(each))),
        ]

    # --- one change -------------------------------------------------------------------------

    def _apply(self, draft: Draft, path: Path, there: Document | None) -> Version:
        version = self._next(draft)
        self.texts.keep(draft.text)
        old = there.file.rpartition("/")[2] if there is not None else path.name
        self._pending.write(
            Pending(version, path.name, _hash(path), old if old != path.name else "")
        )
        write_whole(path, draft.text)
        self._settle()
        return version

    def _settle(self) -> None:
        """Bring a push to its end once its text is in place, or find that it never began."""
        pending = self._pending.read()
        if pending is None:
            return
        version = pending.version
        path = self._configs / pending.file
        latest = self._journal.latest().get(version.id)
        has_begun = _hash(path) != pending.before or version.hash == pending.before
        if has_begun and (latest is None or latest.number < version.number):
            if pending.old_file:
                (self._configs / pending.old_file).unlink(missing_ok=True)
                make_durable(self._configs)
            self._journal.append(version)
        clear_leftovers(path)
        self._pending.clear()

    def _record(self, found: Document | str, checks: Checks, note: str) -> None:
        """Add what people did to the folder to the history: a text, or an id that is gone."""
        if isinstance(found, str):
            gone = Draft(found, "", "json", "", "removed", "none", "its file is gone")
            self._journal.append(self._next(gone))
        else:
            self.texts.keep(found.text)
            draft = Draft(found.id, found.text, found.format, found.author, "edit", checks, note)
            self._journal.append(self._next(draft))

    def _next(self, draft: Draft) -> Version:
        latest = self._journal.latest().get(draft.id)
        return next_version(draft, latest, int(self._now() * 1000))

    # --- looking ----------------------------------------------------------------------------

    def _written(self, config_id: str) -> Document | None:
        """The config as it is now, well formed or not, for one who wants to replace it."""
        folder = self._folder.read()
        found = folder.documents.get(config_id)
        if found is not None and not found.alone:
            raise InvalidInput(
                f"{found.file} holds other configs beside {config_id!r}; "
                "edit the file, or give each config a file of its own"
            )
        for each in folder.unreadable:
            if each.id == config_id:
                if found is not None or each.text is None:
                    raise InvalidInput(f"{each.file}: {each.what}; mend or delete that file first")
                found = Document(config_id, each.file, _format(each.file), each.text, None)
        return found

    def _file_of(self, draft: Draft, there: Document | None) -> Path:
        """Where a text goes: where the config is, when that is of its format."""
        if there is not None and there.format == draft.format:
            return self._configs / there.file.rpartition("/")[2]
        if not can_be_a_name(draft.id):
            raise InvalidInput(
                f"{draft.id!r} cannot be the name of a file; "
                "put the config into a file of another name first, then push it"
            )
        path = self._configs / f"{draft.id}.{draft.format}"
        if path.exists():
            raise InvalidInput(f"configs/{path.name} holds another config; rename it first")
        return path

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """With the store's lock, and nothing half-way."""
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            with locked(self._home / "lock", timeout_s=self._lock_timeout_s):
                self._settle()
                yield
        except OSError as failed:
            where = f"{failed.filename}: " if failed.filename else ""
            raise ConfigStoreFailed(f"{where}{failed.strerror or failed}") from failed


def _format(file: str) -> Format:
    return SUFFIXES[Path(file).suffix]


def _hash(path: Path) -> str:
    return content_hash(path.read_bytes()) if path.exists() else ""
