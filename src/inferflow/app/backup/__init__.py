"""Embedded state as one file, taken while everything runs, and put back as a project.

`manifest.py` says what an archive holds, `archive.py` packs and unpacks it, `taking.py` knows which
files make up a project and in which order they must be read, `restoring.py` puts them back.
"""

from inferflow.app.backup.manifest import Manifest
from inferflow.app.backup.restoring import Restored, restore_backup
from inferflow.app.backup.taking import Taken, take_backup

__all__ = ["Manifest", "Restored", "Taken", "restore_backup", "take_backup"]
