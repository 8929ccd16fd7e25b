"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

from .robustness.plugin import (  # noqa: F401  # for pytest to find
    pytest_collection_modifyitems,
    pytest_runtest_call,
    pytest_terminal_summary,
    scenario,
)

# How long an example takes says something about the machine, not about the code.
settings.register_profile("inferflow", deadline=None)
settings.load_profile("inferflow")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: somebody always waits for a process to start."""
    return (os.cpu_count() or 1) + 1
