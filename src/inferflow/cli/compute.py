"""`inferflow compute`: trying expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.requesting import named

if TYPE_CHECKING:
    import numpy as np

app = typer.Typer(help="Try expressions.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def compute() -> None:
    """Try expressions."""


@app.command("eval")
def evaluate(
    expression: Annotated[str, typer.Argument(help='Infix or postfix: "0.7*a + 0.3*b".')],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE[,VALUE...]]...",
            help="A column: one value for all rows, or one per row. A vector is written 1:2:3.",
        ),
    ] = None,
    postfix: Annotated[
        bool, typer.Option("--postfix", help="Read the expression as postfix only.")
    ] = False,
    precision: Annotated[
        Literal["fp32", "fp64"], typer.Option(case_sensitive=False, help="Computed in this type.")
    ] = "fp32",
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on a row without an answer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate an expression over columns given as NAME=VALUES."""
    from inferflow.compute import compile_expression
    from inferflow.dtypes import FP32, FP64
    from inferflow.errors import InvalidInput
    from inferflow.tabular import table

    compiled = compile_expression({"postfix": expression} if postfix else expression)
    columns = {
        name: column_of(name, text) for name, text in named(values or (), "NAME=VALUES").items()
    }
    absent = [name for name in compiled.variables if name not in columns]
    if absent:
        raise InvalidInput(f"the expression reads {', '.join(absent)}; give {absent[0]}=…")
    for name in columns:
        if name not in compiled.variables:
            raise InvalidInput(f"the expression does not read {name!r}")
    rows = max((len(column) for column in columns.values()), default=1)
    answer = compiled.evaluate(
        [columns[name] for name in compiled.variables],
        rows,
        precision=FP64 if precision == "fp64" else FP32,
        strict=strict,
    )
    marks = [False] * rows if answer.invalid is None else answer.invalid.tolist()
    results = [
        None if marked else value
        for marked, value in zip(marks, answer.values.tolist(), strict=True)
    ]
    if as_json:
        say_json({"postfix": compiled.postfix(), "values": results, "error": answer.reason})
        return
    listed: list[list[Any]] = [
        [
            *(_cell(columns[name], row) for name in compiled.variables),
            results[row],
            answer.reason if marks[row] else None,
        ]
        for row in range(rows)
    ]
    say_table(table([*compiled.variables, "result", "error"], listed))
    say("", f"compiled: {compiled.postfix()}")


def column_of(name: str, text: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Numbers when all values are, rows of vectors when they have colons, else text."""
    import numpy as np

    from inferflow.errors import InvalidInput

    parts = text.split(",")
    try:
        if ":" in text:
            return np.array([[float(part) for part in row.split(":")] for row in parts])
        return np.array([float(part) for part in parts])
    except ValueError:
        if ":" in text:
            raise InvalidInput(f"{name}: vectors of numbers of one length are wanted") from None
        return np.array(parts, dtype=object)


def _cell(column: np.ndarray[Any, np.dtype[Any]], row: int) -> Any:
    return column[row if len(column) > 1 else 0].tolist() if column.dtype != object else column[row]
