"""How an error leaves the command: one clear line on stderr, never a traceback."""

from __future__ import annotations

import os

import typer
from typer.core import TyperGroup

DEBUG = "INFERFLOW_DEBUG"


class Group(TyperGroup):
    """Runs a command and turns what it raises into a line and an exit code."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]  # typer's own context
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # there is nobody to tell; `main` ends the process
        except KeyboardInterrupt:
            raise _told("interrupted") from None
        except Exception as raised:
            if isinstance(raised, typer.Abort) or hasattr(raised, "exit_code"):
                raise  # typer's own way of saying how to end
            if os.environ.get(DEBUG):
                raise
            raise _told(message_of(raised)) from None


def message_of(error: Exception) -> str:
    """What to tell a person about an error."""
    from inferflow.errors import InferflowError

    if isinstance(error, InferflowError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return (
        f"{type(error).__name__}: {error}; this is a bug in Inferflow, "
        f"run again with {DEBUG}=1 to see where"
    )


def _told(message: str) -> typer.Exit:
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(1)
