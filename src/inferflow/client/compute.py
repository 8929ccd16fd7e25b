"""The engine's `ComputeRunner` for expressions that a service evaluates, on the wire of Numerix.

Rows travel as bytes in the step's own precision, with their number for an id: answers are put in
place by it, whatever order they come in. An expression that is known to look at each row alone may
be asked for in batches; any other is sent whole, for its answers depend on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.coarse import NumerixResponse
from inferflow._proto.numbers import NumberRows, number_rows, read_number_rows
from inferflow._proto.pool import message_class
from inferflow._proto.writing import field as written_field
from inferflow._proto.writing import tag
from inferflow.client.oip.line import Line, LineOptions, Method
from inferflow.components.model import MARGIN_MS
from inferflow.compute import ExpressionBook
from inferflow.compute.columns import as_numbers
from inferflow.dtypes import FP64, Array, DType
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Computed
from inferflow.errors import ComputeFailed, InvalidInput

_Data = message_class("numerix.EntityScoreData")
_ENTITY_SCORE_DATA, _ROWS = tag(1), tag(2)
_ID = np.dtype("<u4")


def _failed(compute_id: str, why: str) -> ComputeFailed:
    return ComputeFailed(f"expression {compute_id!r} failed: {why}")


COMPUTE = Method("/numerix.Numerix/Compute", "expression", _failed)


@dataclass(frozen=True, slots=True)
class ComputeOptions:
    line: LineOptions = field(default_factory=LineOptions)
    batch_size: int = 100
    """Most rows per call, where rows do not depend on each other."""
    default_deadline_ms: float = 1_000.0
    """For calls that nobody set a limit for: no call waits for ever."""


def compute_line(address: str, options: ComputeOptions) -> Line:
    return Line(address, options.line, COMPUTE)


class RemoteCompute:
    """Expressions of one service. What is known of them here comes from a book, which may lack
    some."""

    is_local = False

    def __init__(self, line: Line, book: ExpressionBook, options: ComputeOptions) -> None:
        self.endpoint = line.address
        self._line = line
        self._book = book
        self._options = options

    def prepare(
        self, compute_id: str, variables: tuple[str, ...], *, precision: DType, strict: bool
    ) -> RemoteExpression:
        known = self._book.get(compute_id)
        is_alone = known is not None and not known.cross_row
        telling = () if known is None else set(known.variables) - set(known.numeric_variables)
        return RemoteExpression(
            self._line,
            ComputeRequest(compute_id, variables, precision, strict=strict, exact=tuple(telling)),
            batch_size=self._options.batch_size if is_alone else None,
            default_deadline_ms=self._options.default_deadline_ms,
        )


class ComputeRequest:
    """Requests for one expression with the same columns: all but the rows is written once."""

    def __init__(
        self,
        compute_id: str,
        variables: tuple[str, ...],
        precision: DType,
        *,
        strict: bool,
        exact: Sequence[str] = (),
    ) -> None:
        """`exact` are columns that tell rows apart, and must not lose digits on the way."""
        self.compute_id = compute_id
        self.dtype = precision.numpy
        self._precision = precision
        self._variables = variables
        self._exact = exact
        constant = _Data(
            schema=(_other_than(variables), *variables),
            compute_id=compute_id,
            data_type="fp64" if precision is FP64 else "fp32",
            blank_rows=not strict,
        )
        self._constant: bytes = constant.SerializeToString()

    def table(self, columns: Sequence[Array], rows: int) -> Array:
        """[rows, columns] in the precision asked for. Raises ComputeFailed for text and vectors."""
        table = np.empty((rows, len(columns)), self.dtype)
        with np.errstate(all="ignore"):  # a number too large for the precision is infinite in it
            for place, (name, column) in enumerate(zip(self._variables, columns, strict=True)):
                numbers = as_numbers(name, column, rows, self.dtype)
                if name in self._exact:
                    self._check_exact(name, numbers, column)
                table[:, place] = numbers
        return table

    def _check_exact(self, name: str, numbers: Array, column: Array) -> None:
        if not np.array_equal(numbers.astype(column.dtype), column):
            raise ComputeFailed(
                f"column {name!r} tells rows apart and does not fit {self._precision.name}; "
                "give the step data_type FP64"
            )

    def of(self, table: Array) -> bytes:
        rows = number_rows(_ROWS, row_ids(len(table)), table)
        return written_field(_ENTITY_SCORE_DATA, self._constant + rows)


def _other_than(variables: Sequence[str]) -> str:
    """A name for the ids that is no variable's: the original takes no name twice."""
    name = "id"
    while name in variables:
        name += "_"
    return name


@lru_cache(maxsize=64)
def row_ids(rows: int) -> list[bytes]:
    """The number of each row. Not to be changed: others get the same list."""
    numbers, size = np.arange(rows, dtype=_ID).tobytes(), _ID.itemsize
    return [numbers[at : at + size] for at in range(0, len(numbers), size)]


class RemoteExpression:
    """An expression bound to its columns, and the line to where it is evaluated."""

    def __init__(
        self,
        line: Line,
        request: ComputeRequest,
        *,
        batch_size: int | None,
        default_deadline_ms: float,
    ) -> None:
        self._line = line
        self._request = request
        self.batch_size = batch_size
        self._default_deadline_ms = default_deadline_ms

    async def run(self, columns: Sequence[Array], rows: int, *, deadline: Deadline) -> Computed:
        """Raises ComputeFailed, Unreachable, Overloaded or DeadlinePassed."""
        if deadline.at == inf:
            deadline = deadline.within(self._default_deadline_ms)
        compute_id = self._request.compute_id
        body = self._request.of(self._request.table(columns, rows))
        try:
            answer = await self._line.ask(body, compute_id, deadline.ahead(MARGIN_MS))
            return read_answer(answer, rows, self._request)
        except InvalidInput as wrong:
            raise _failed(compute_id, f"{self._line.address}: {wrong}") from wrong


def read_answer(body: bytes, rows: int, request: ComputeRequest) -> Computed:
    """The scores of so many rows, each in its place. Raises InvalidInput with what is wrong."""
    try:
        answer = NumerixResponse.FromString(body)
    except DecodeError:
        raise InvalidInput("the answer is no NumerixResponseProto") from None
    arm = answer.WhichOneof("response")
    if arm != "computation_score_data":
        raise InvalidInput(answer.error.message if arm else "the answer is empty")
    data = answer.computation_score_data
    read = read_number_rows(data.computation_scores, ("score",), request.dtype, blanks=True)
    _put_in_order(read, rows)
    values = read.values[:, 0]
    if read.blank is None:
        return Computed(values)
    invalid = read.blank[:, 0]
    values[invalid] = np.nan
    return Computed(values, invalid, data.blank_reason or "the compute service has no answer")


def _put_in_order(read: NumberRows, rows: int) -> None:
    asked = row_ids(rows)
    if read.ids == asked:
        return
    places = {each: place for place, each in enumerate(read.ids)}
    if len(read.ids) != rows or set(places) != set(asked):
        raise InvalidInput(f"{len(read.ids)} row(s) came back for {rows}, or others than asked")
    order = [places[each] for each in asked]
    read.ids, read.values = asked, read.values[order]
    if read.blank is not None:
        read.blank = read.blank[order]
