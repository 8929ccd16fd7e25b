"""Exits with 0 when a role answers that it is ready: `python ready.py http://127.0.0.1:8082`.

For health checks inside an image that has neither a shell's curl nor wget.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

TIMEOUT_S = 3.0


def why_not_ready(address: str) -> str:
    """Empty when the role is ready."""
    try:
        with urllib.request.urlopen(f"{address}/health/ready", timeout=TIMEOUT_S):
            return ""
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.read().decode("utf-8", "replace") or str(refused)
    except OSError as failed:
        return str(failed)


if __name__ == "__main__":
    sys.exit(why_not_ready(sys.argv[1]) or 0)
