"""What a config store promises. A directory and etcd keep it; every backend passes one suite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from inferflow.configstore.folder import Folder
from inferflow.configstore.versions import Document, Draft, Expected, Version


class ConfigStore(Protocol):
    """Configs by exact id: what each is now, and everything it has been.

    An id is compared as it is, letter by letter. Texts come back as they went in, to the last
    blank. Reading never changes anything. A change is whole or did not happen, whoever dies in
    the middle, and two changes of one store never overlap, in whichever processes they are.

    Raises ConfigStoreFailed when the medium fails, ConfigStoreBusy when a writer waited too
    long for another. Both mean that nothing was changed.
    """

    def current(self) -> Folder:
        """Every config as it is written now, seen at one moment, and what cannot be read."""
        ...

    def get(self, config_id: str) -> Document:
        """One config as it is written now. Raises NotFound, or InvalidInput when its file
        cannot be read."""
        ...

    def history(self, config_id: str) -> Sequence[Version]:
        """Every version, oldest first, its removal included. Empty when there never was one."""
        ...

    def versions(self) -> Sequence[Version]:
        """The newest version of every config that ever was, by id."""
        ...

    def text(self, version: Version) -> str:
        """What a version said. Raises NotFound for a removal."""
        ...

    def push(self, draft: Draft, *, expected: Expected | None = None) -> Version:
        """Make a text the config, and the next version of it.

        With `expected`, raises VersionConflict unless that version is the newest and what is
        written now is its text. Without it, what was written by hand and not yet recorded
        becomes a version of its own first, so that no work is lost. A text equal to what is there
        becomes a version too: that it was pushed, by whom and how it was checked is worth knowing.
        Raises InvalidInput for what cannot be stored.
        """
        ...

    def accept(self, documents: Collection[Document], gone: Collection[str] = ()) -> bool:
        """Record what was found written and has been taken up, as edits of the folder; ids in
        `gone` as removals. What is the newest version already is not recorded again.

        False when something was changed since it was read: nothing has been recorded then,
        and the caller looks again.
        """
        ...

    def close(self) -> None:
        """Give back what is held open."""
        ...
