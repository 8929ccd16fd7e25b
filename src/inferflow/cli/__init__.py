"""The `inferflow` command.

- `root`: all commands in one place; `failing`: how an error leaves the command
- one file per command (or group of commands), which imports what it needs when it runs
- `projects`, `requesting`, `progress`, `output`: what several commands share; `load_chart`: how a
  load is shown
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit: 0 for success, 1 for a failure, 2 for wrong usage."""
    # Our processes start others by exec alone; gRPC need not prepare for, nor remark on, forks.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows `?` instead
            stream.reconfigure(errors="replace")
    try:
        try:
            from inferflow.cli.root import app

            app(prog_name="inferflow")
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # before a command has begun, or while it ends; else see `failing`
        print("error: interrupted", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read the output has left. Python would complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("error: the output was closed before all of it was written", file=sys.stderr)
        sys.exit(1)
