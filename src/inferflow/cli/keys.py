"""`inferflow keys`: who may call a fleet, or a server with a file of keys. `inferflow audit`: who
changed what in a fleet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from inferflow.cli.fleets import Key, Manager, administrating, when
from inferflow.cli.output import AsJson, say, say_json, say_table

app = typer.Typer(
    help="API keys, of a fleet or of a file.", no_args_is_help=True, rich_markup_mode=None
)

File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="A file of keys, and not those of a fleet."),
]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is known by in lists.")],
    may: Annotated[
        list[str],
        typer.Option(
            "--may", help="inference, view, configure, upload, admin or worker; may be repeated."
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PATTERN", help="Only for these (rank*); may be repeated."),
    ] = None,
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="After how long it ends, such as 30d.")
    ] = "",
    per_second: Annotated[
        float, typer.Option("--per-second", min=0, help="Requests it may make, per process.")
    ] = 0,
    burst: Annotated[int, typer.Option("--burst", min=0, help="At most so many at once.")] = 0,
    file: File = None,
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key and print it. It is never shown again."""
    expires_ms = int(time.time() * 1000 + _lifetime_ms(expires)) if expires else 0
    limits: Any = {
        "models": model or (),
        "expires_ms": expires_ms,
        "per_second": per_second,
        "burst": burst,
    }
    if file is not None:
        from inferflow.app.key_cards import create_key

        made = create_key(file, name, may, **limits)
    else:
        with administrating(manager, key) as admin:
            made = admin.create_key(name, may, **limits)
    if as_json:
        say_json(made)
    else:
        say(made["secret"])


@app.command("list")
def list_(
    file: File = None, manager: Manager = None, key: Key = None, as_json: AsJson = False
) -> None:
    """Show every key: what it is good for, and how much it was used."""
    from inferflow.tabular import table

    if file is not None:
        from inferflow.app.key_cards import list_keys

        keys = list_keys(file)
    else:
        with administrating(manager, key) as admin:
            keys = admin.keys()
    if as_json:
        say_json({"keys": keys})
        return
    headers = ["key", "name", "may", "models", "state", "expires", "limit", "requests", "last used"]
    now_ms = int(time.time() * 1000)
    say_table(table(headers, [_cells(each, now_ms) for each in keys]))


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY-ID", help="Its id, not the key itself.")],
    file: File = None,
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """End a key. Managers refuse it at once, workers within a heartbeat, other servers within two
    seconds."""
    if file is not None:
        from inferflow.app.key_cards import revoke_key

        revoked = revoke_key(file, key_id)
    else:
        with administrating(manager, key) as admin:
            revoked = admin.revoke_key(key_id)
    if as_json:
        say_json(revoked)
    else:
        say(f"{key_id} ({revoked['name']}) is revoked")


def audit(
    last: Annotated[int, typer.Option("--last", min=1, help="So many changes.")] = 50,
    model: Annotated[str, typer.Option("--model", help="Of this model alone.")] = "",
    by: Annotated[str, typer.Option("--by", help="Made with the key of this id.")] = "",
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show who changed what in a fleet, newest first."""
    from inferflow.tabular import table

    with administrating(manager, key) as admin:
        entries = admin.audit(last, model=model, by=by)
    if as_json:
        say_json({"entries": entries})
        return
    rows = [
        [when(each["at_ms"]), each["by"], each["action"], each["subject"], each["detail_json"]]
        for each in entries
    ]
    say_table(table(["at", "by", "action", "subject", "detail"], rows))


def _cells(key: dict[str, Any], now_ms: int) -> list[Any]:
    limit = key["requests_per_second"]
    return [
        key["key_id"],
        key["name"],
        ", ".join(key["permissions"]),
        ", ".join(key["models"]) or "all",
        _state(key, now_ms),
        when(key["expires_ms"]),
        f"{limit:g}/s, burst {key['burst']}" if limit else None,
        key["requests"],
        when(key["last_used_ms"]),
    ]


def _state(key: dict[str, Any], now_ms: int) -> str:
    if key["revoked_ms"]:
        return "revoked"
    return "expired" if 0 < key["expires_ms"] <= now_ms else "live"


def _lifetime_ms(text: str) -> float:
    from inferflow.plan.schema import duration_ms

    days = text.removesuffix("d")
    try:
        read = float(days) * 86_400_000 if text.endswith("d") else float(duration_ms(text))
    except ValueError:
        read = 0
    if read <= 0:
        raise typer.BadParameter(f"{text!r} is no time such as 30d or 12h", param_hint="--expires")
    return read
