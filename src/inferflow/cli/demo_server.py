"""The demo shop as a running server: everything `inferflow up` starts, and how to try it.

What is printed exists and answers: it comes after the last part is ready.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferflow.cli.output import say
from inferflow.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from inferflow.app.local_fleet import LocalFleet
    from inferflow.app.serving import Serving
    from inferflow.app.settings import Settings

_AT_ONCE: dict[str, Any] = {"drain_pause": 0.0}
"""Nobody sends calls here who would have to be told first."""


def serve_shop(directory: Path, config: str, request: Path, best: str) -> None:
    """Serve until Ctrl-C. Raises MissingExtra when only the base is installed."""
    try:
        from inferflow.app import lifetime
        from inferflow.app.settings import read_settings
        from inferflow.app.up import serve_with_fleet
    except (MissingExtra, ModuleNotFoundError) as missing:
        what = "serving the demo (`inferflow demo --once` only scores)"
        raise MissingExtra("all", for_what=what) from missing

    overrides = _for_the_demo(read_settings(directory))
    shop = _Shop(directory, config, request, best)
    lifetime.run(
        serve_with_fleet(
            directory,
            read_settings(directory, overrides),
            overrides,
            progress=None,
            begun=shop.fleet_begun,
            told=shop.gateway_told,
            started=shop.started,
        )
    )
    say("ended; nothing is left running")


class _Shop:
    """Gathers what starts, one part after another, and prints it when all is ready."""

    def __init__(self, directory: Path, config: str, request: Path, best: str) -> None:
        self._file = shlex.quote(str(directory / request))
        self._config = config
        self._best = best
        self._where: list[str] = []
        self._url = ""

    def fleet_begun(self, fleet: LocalFleet) -> None:
        self._where += [f"manager  {fleet.address}", f"worker   {fleet.worker_address}"]
        if fleet.first_key:
            why = "asked for by the manager; shown this once"
            self._where.append(f"key      {fleet.first_key} ({why})")

    def gateway_told(self, url: str, why_none: str) -> None:
        from inferflow.api.gateway.pages import are_built

        self._url = url
        if not url:
            self._where.append(f"web      none: {why_none}")
        elif are_built():
            self._where.append(f"web      {url}")
        else:
            self._where.append(f"HTTP     {url} (web pages: run `make ui`, which needs Node 20.19)")

    def started(self, running: Serving) -> None:
        host = running.settings.bind
        address = f"{host}:{running.grpc.port}"
        metrics = f"{running.http.scheme}://{host}:{running.http.port}/metrics"
        say("", *self._where, f"gRPC     {address}", f"metrics  {metrics}")
        say("", *self._hints(address), "", "serving until Ctrl-C")

    def _hints(self, address: str) -> list[str]:
        """Commands that work as they are typed, in another terminal."""
        from inferflow.cli.program import interpreter, program

        score = f"{self._url}/v1/score/{self._config}"
        return [
            "in another terminal:",
            *([f"  curl -s {score} --json @{self._file}"] if self._url else []),
            f"  {program()} explain {self._config} --target {address} --request {self._file} "
            f"--item {self._best}",
            f"in Python ({interpreter()}):",
            "  import inferflow",
            f'  client = inferflow.connect("{address}")',
            f'  ranking = client.score("{self._config}", user="7", product=["1", "2", "3"], '
            'context={"hour": 20})',
            "  print(ranking)",
        ]


def _for_the_demo(settings: Settings) -> dict[str, Any]:
    """Settings of the demo: any free port in place of one that is taken, and a terminal for people
    to read."""
    tables = {
        name: getattr(settings, name).model_copy(
            update={
                **_AT_ONCE,
                **{port: 0 for port in ("port", "http_port") if _is_taken(settings, name, port)},
            }
        )
        for name in ("serve", "manager", "worker")
    }
    tables["telemetry"] = settings.telemetry.model_copy(update={"log_level": "warning"})
    if _is_taken(settings, "gateway", "port"):
        tables["gateway"] = settings.gateway.model_copy(update={"port": 0})
    return tables


def _is_taken(settings: Settings, table: str, port: str) -> bool:
    from inferflow.rpc.listening import check_free

    chosen = getattr(settings, table)
    try:
        check_free(chosen.bind, getattr(chosen, port))
    except InvalidInput:
        return True
    return False
