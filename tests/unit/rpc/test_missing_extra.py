"""Without gRPC, what needs it says which extra to install."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["inferflow.rpc.server", "inferflow.api.service", "inferflow.app.serving"]
)
def test_a_missing_grpc_names_its_extra(module: str) -> None:
    program = f"import sys; sys.modules['grpc'] = None; import {module}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "MissingExtra: gRPC needs: pip install 'inferflow[serve]'" in done.stderr
