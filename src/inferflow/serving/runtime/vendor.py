"""The one door to ONNX Runtime, which is imported on use.

Its official builds report to their maker what models are run and how, and keep a device id and a
database for it under the user's cache folder, unless the environment says no before it is first
imported. Nothing of what is served here is anybody else's business, so it says no, except to
users who have chosen for themselves.
"""

from __future__ import annotations

import os
from typing import Any

_NO_REPORTS = "ORT_DISABLE_TELEMETRY"


def import_onnxruntime() -> Any:
    # Its own call for this comes too late: the first report is made while it is imported.
    os.environ.setdefault(_NO_REPORTS, "1")
    import onnxruntime

    return onnxruntime
