"""`inferflow demo`: a shop to try Inferflow on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from inferflow.cli.output import say, say_table

CONFIG = "ranker"
REQUEST = Path("requests/ranker.json")


def demo(
    directory: Annotated[
        Path, typer.Option("--dir", "-d", metavar="DIR", help="Where the shop is written.")
    ] = Path("inferflow-demo"),
    once: Annotated[
        bool, typer.Option("--once", help="Score one request, print the ranking and exit.")
    ] = False,
) -> None:
    """Write the demo shop, score a request and print the ranking; then serve the shop, with its web
    pages, until asked to end.

    Files that are already there are kept, so the shop can be changed and scored again. Ports that
    are taken are replaced by free ones.
    """
    best = _rank(directory)
    if once:
        say("", *_hints(directory, best))
        return
    from inferflow.cli.demo_server import serve_shop

    serve_shop(directory, CONFIG, REQUEST, best)


def _rank(directory: Path) -> str:
    """Prints what the shop's request is answered with; the product that came first."""
    from inferflow.cli.projects import opened_flow
    from inferflow.demo import write_shop
    from inferflow.plan.document import read_document

    written = write_shop(directory)
    with opened_flow(directory) as flow:
        request = read_document(directory / REQUEST)
        scores = flow.answer(request)
    state = f"wrote {len(written)} files to" if written else "using the shop in"
    say(
        f"{state} {directory}",
        "",
        f"what user {request['entities']['user']} is most likely to want, "
        f"of {len(scores)} products, by config {CONFIG!r}:",
        "",
    )
    say_table(scores.lines())
    return scores.ids[scores.ranked()[0]]


def _hints(directory: Path, best: str) -> list[str]:
    """Commands that work as they are typed."""
    from inferflow.cli.program import interpreter, program

    folder = shlex.quote(str(directory))
    request = shlex.quote(str(directory / REQUEST))
    run = program()
    return [
        f"why product {best} scored what it did:",
        f"  {run} explain {CONFIG} --dir {folder} --request {request} --item {best}",
        "score others:",
        f"  {run} score {CONFIG} --dir {folder} "
        "--entity user=42 --entity product=1,2,3 --context hour=9",
        f"change {directory}/configs or {directory}/expressions.yaml, then check and compare:",
        f"  {run} validate {folder}",
        f"  {run} test {folder}",
        f"in Python ({interpreter()}):",
        "  import inferflow",
        f"  flow = inferflow.open({json.dumps(directory.as_posix())})",
        f'  ranking = flow.score("{CONFIG}", user="7", product=["1", "2", "3"], '
        'context={"hour": 20})',
        "  print(ranking)",
        "  print(ranking.explain())",
    ]
