"""Where configs live, change and are rolled back.

- `port`: what a config store promises, in our own words
- `versions`: documents, versions and drafts; finding, expecting and comparing versions
- `folder`: a folder of config files, read into documents
- `directory`: the store over a folder people edit, with its history beside it
- `journal`, `texts`, `pending`, `lock`, `atomic`: how that history survives anything
- `served`: what a project last served well, for the next start

Whether a config is any good is not decided here: whoever pushes has compiled it first.
"""

from inferflow.configstore.directory import DirectoryStore
from inferflow.configstore.folder import Folder, Unreadable, read_folder
from inferflow.configstore.port import ConfigStore
from inferflow.configstore.served import Served, ServedStore
from inferflow.configstore.texts import Texts
from inferflow.configstore.versions import (
    Document,
    Draft,
    Version,
    content_hash,
    difference,
    find_version,
)

__all__ = [
    "ConfigStore",
    "DirectoryStore",
    "Document",
    "Draft",
    "Folder",
    "Served",
    "ServedStore",
    "Texts",
    "Unreadable",
    "Version",
    "content_hash",
    "difference",
    "find_version",
    "read_folder",
]
