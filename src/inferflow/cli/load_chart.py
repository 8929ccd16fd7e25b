"""What came of a load, on a terminal: a few numbers and a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from inferflow.client.load import LoadReport

_BAR_WIDTH = 40


def print_report(report: LoadReport, stream: TextIO) -> None:
    console = Console(file=stream, highlight=False)
    console.print(
        f"[bold]{report.per_second:,.1f}[/] answers per second over {report.seconds:.1f} s:"
        f" {report.answered:,} answered, {report.failed:,} failed"
    )
    for code, count in report.failures.items():
        console.print(f"  {count:,} {code}: {report.details.get(code, '')}", markup=False)
    if report.latency_ms:
        console.print()
        console.print(_percentiles(report))
        console.print()
        console.print(_histogram(report))


def _percentiles(report: LoadReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("ms")
    for name in report.latency_ms:
        table.add_column(name, justify="right")
    table.add_row("latency", *map(_ms, report.latency_ms.values()))
    if report.late_ms:
        table.add_row("sent late", *map(_ms, report.late_ms.values()))
    return table


def _histogram(report: LoadReport) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(width=_BAR_WIDTH)
    table.add_column(justify="right")
    most = max(count for _, count in report.histogram)
    for bound, count in report.histogram:
        table.add_row(f"≤ {_ms(bound)} ms", Bar(most, 0, count, width=_BAR_WIDTH), f"{count:,}")
    return table


def _ms(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
