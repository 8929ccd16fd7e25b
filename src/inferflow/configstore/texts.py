"""Texts by their hash: written once, never changed, shared by every version that says the same."""

from __future__ import annotations

from pathlib import Path

from inferflow.configstore.atomic import write_whole
from inferflow.configstore.versions import content_hash
from inferflow.errors import ConfigStoreFailed


class Texts:
    """The texts kept in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, text: str) -> str:
        """Keep a text and return its hash."""
        name = content_hash(text)
        path = self._folder / name
        if not path.exists():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_whole(path, text)
            except OSError as failed:
                raise ConfigStoreFailed(f"a text cannot be kept: {failed}") from failed
        return name

    def get(self, name: str) -> str:
        """The text of a hash. Raises ConfigStoreFailed when it is lost or damaged."""
        try:
            text = (self._folder / name).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as failed:
            raise ConfigStoreFailed(f"the text {name[:12]} cannot be read: {failed}") from failed
        if content_hash(text) != name:
            raise ConfigStoreFailed(f"the text {name[:12]} was changed on disk")
        return text
