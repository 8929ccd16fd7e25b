"""`inferflow workers`: the workers of a fleet."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from inferflow.cli.fleets import Key, Manager, administrating, when
from inferflow.cli.output import AsJson, say, say_json, say_table

app = typer.Typer(help="The workers of a fleet.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_(manager: Manager = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show every worker: its state, its load, and the models it holds."""
    from inferflow.tabular import table

    with administrating(manager, key) as admin:
        workers = admin.workers()
    if as_json:
        say_json({"workers": workers})
        return
    headers = [
        *("worker", "address", "state", "last seen", "in flight", "queued", "slots"),
        *("cpu %", "memory MiB", "p50 ms", "p99 ms", "models"),
    ]
    say_table(table(headers, [_cells(worker) for worker in workers]))


@app.command("drain")
def drain(
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="The worker's id.")],
    manager: Manager = None,
    key: Key = None,
) -> None:
    """Have a worker leave: no new caller is sent to it, it finishes its calls, and ends."""
    with administrating(manager, key) as admin:
        admin.drain(worker)
    say(f"{worker} is leaving")


def _cells(worker: dict[str, Any]) -> list[Any]:
    report = worker["report"]
    held = [f"{m['model']}@{m['version']}" for m in report["models"] if m["state"] == "ready"]
    return [
        worker["worker_id"],
        worker["address"],
        worker["state"],
        when(worker["last_seen_ms"]),
        report["in_flight"],
        report["queued"],
        worker["slots"],
        report["cpu_percent"],
        report["memory_bytes"] / 1024 / 1024,
        report["latency_p50_ms"],
        report["latency_p99_ms"],
        ", ".join(held),
    ]
