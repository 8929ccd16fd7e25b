"""`inferflow bench`: load for a server that runs, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say_json, warn
from inferflow.cli.projects import HERE, ProjectDir, project_root
from inferflow.cli.requesting import ContextValues, EntityIds, RequestFile, is_given, request_of
from inferflow.cli.targets import Shown, own_address, showing
from inferflow.client.tls import for_channels
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.client.load import Load
    from inferflow.engine.request import ScoreRequest

OPEN, CLOSED = "open loop", "closed loop"


def _seconds(given: str | float) -> float:
    """A time such as `500ms`. Whoever types a plain number at a load test means seconds."""
    from inferflow.plan.schema import duration_ms

    with suppress(ValueError):
        given = f"{float(given)}s"
    try:
        return duration_ms(given) / 1e3
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong)) from wrong


def bench(
    config_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="Only requests to this model config.")
    ] = "",
    request: RequestFile = None,
    entity: EntityIds = None,
    context: ContextValues = None,
    requests: Annotated[
        Path | None,
        typer.Option(
            "--requests", metavar="FOLDER", help="Send every request of a folder in turn."
        ),
    ] = None,
    directory: ProjectDir = HERE,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="ADDRESS", help="The server, as host:port."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", "-R", min=0.001, help="Open loop: so many calls per second."),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", "-C", min=1, help="Closed loop: so many calls under way."),
    ] = None,
    connections: Annotated[int, typer.Option("--connections", min=1, max=900)] = 16,
    processes: Annotated[
        int, typer.Option("--processes", min=1, max=64, help="Send from so many processes.")
    ] = 1,
    duration: Annotated[
        float,
        typer.Option(
            "--duration",
            parser=_seconds,
            metavar="TIME",
            help="Measured, 10s unless given.",
            show_default=False,
        ),
    ] = 10.0,
    warmup: Annotated[
        float,
        typer.Option(
            "--warmup",
            parser=_seconds,
            metavar="TIME",
            help="Before, unmeasured; 1s unless given.",
            show_default=False,
        ),
    ] = 1.0,
    deadline: Annotated[
        float,
        typer.Option(
            "--deadline",
            parser=_seconds,
            metavar="TIME",
            help="Of each call, 10s unless given.",
            show_default=False,
        ),
    ] = 10.0,
    throttle: Annotated[
        float | None,
        typer.Option(
            "--throttle",
            min=1,
            metavar="MULTIPLE",
            help="Keep calls back as clients of the SDK do, which have 1.3; else all are sent.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send requests to a running server and measure how long answers take.

    Requests are those of the project unless others are given. With --rate calls begin when they
    are due, and their latency counts from then; otherwise each answer begins the next call. Ctrl-C
    ends it early. Exits with 1 when nothing was answered.
    """
    try:
        from inferflow.client.load import Load, call_for, run_load, with_key
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow bench`") from missing
    if rate is not None and concurrency is not None:
        raise typer.BadParameter("give --rate or --concurrency, not both")
    if is_given(request, entity, context):
        asked = [request_of(config_id, request, entity, context)]
    else:
        asked = list(_requests(config_id, requests, directory))
    shown = showing(directory)
    load = Load(
        target or own_address(directory),
        tuple(with_key(call_for(request), shown.key) for request in asked),
        seconds=duration,
        rate=rate,
        concurrency=concurrency or connections,
        connections=connections
        if rate is not None
        else min(connections, concurrency or connections),
        warmup_s=warmup,
        deadline_s=deadline,
        throttle=throttle,
        tls=for_channels(shown.tls),
    )
    _try_each(load, asked, shown)
    typer.echo(_intent(load, processes), err=True)
    report = run_load(load, processes)
    if as_json:
        say_json({"load": _facts(load, processes), **report.as_dict()})
    else:
        from inferflow.cli.load_chart import print_report

        print_report(report, sys.stdout)
    warn(*report.doubts)
    if not report.answered:
        raise typer.Exit(1)


def _requests(config_id: str, folder: Path | None, directory: Path) -> Iterator[ScoreRequest]:
    """The requests of a folder, or of the project; only those to a config, when one is named."""
    from inferflow.app.project import read_project
    from inferflow.errors import InvalidInput

    if folder is None:
        files = [path for _, path in read_project(project_root(directory)).requests()]
    else:
        files = sorted(folder.glob("*.json"))
    found = 0
    for file in files:
        request = request_of("", str(file), None, None)
        if config_id in ("", request.config_id):
            found += 1
            yield request
    if not found:
        which = f"no request to {config_id!r}" if config_id else "no request"
        raise InvalidInput(
            f"{folder or directory / 'requests'}: {which}; give --request FILE or --entity NAME=ID"
        )


def _try_each(load: Load, asked: list[ScoreRequest], shown: Shown) -> None:
    """Each request once, in full: what is wrong with one is better said than counted."""
    from inferflow.cli.score import all_failed
    from inferflow.client.connecting import connect

    deadline_ms = load.deadline_s * 1e3
    with connect(load.target, deadline_ms=deadline_ms, key=shown.key, tls=shown.tls) as client:
        for request in asked:
            if all_failed(client.answer(request)):
                warn(f"{request.config_id}: the answer has an error in every row")


def _facts(load: Load, processes: int) -> dict[str, object]:
    return {
        "target": load.target,
        "requests": len(load.calls),
        "loop": OPEN if load.rate is not None else CLOSED,
        "rate": load.rate,
        "concurrency": load.concurrency if load.rate is None else None,
        "connections": load.connections,
        "processes": processes,
        "seconds": load.seconds,
        "deadline_s": load.deadline_s,
        "throttle": load.throttle,
    }


def _intent(load: Load, processes: int) -> str:
    how = (
        f"{CLOSED}, {load.concurrency} call(s) under way"
        if load.rate is None
        else f"{OPEN}, {load.rate:g} calls per second"
    )
    beside = f", from {processes} processes" if processes > 1 else ""
    return (
        f"{load.target}: {len(load.calls)} request(s) in turn, {how}, {load.connections}"
        f" connection(s){beside}; {load.warmup_s:g} s to warm up, then {load.seconds:g} s"
    )
