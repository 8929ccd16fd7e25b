"""Run as a process of its own: counts a config up, each time for the version it has read.

python counter.py FOLDER TIMES
"""

from __future__ import annotations

import sys
from pathlib import Path

from inferflow.configstore import DirectoryStore, Draft
from inferflow.errors import VersionConflict

folder, times = Path(sys.argv[1]), int(sys.argv[2])
store = DirectoryStore(folder / "configs", folder / "history")
while times:
    seen = store.get("ranker")
    text = f"response_config: {{count: {seen.content['response_config']['count'] + 1}}}\n"
    try:
        store.push(Draft("ranker", text, "yaml", "counter"), expected=seen.hash)
    except VersionConflict:
        continue
    times -= 1
