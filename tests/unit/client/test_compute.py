"""Expressions evaluated by a service: what is sent, what is split, and what an answer may be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
import pytest

from inferflow._proto.pool import message_class
from inferflow.client.compute import ComputeOptions, RemoteCompute, compute_line
from inferflow.client.oip.line import LineOptions
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.dtypes import FP32, FP64, DType
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Computed
from inferflow.errors import ComputeFailed, DeadlinePassed, Unreachable

Request = message_class("numerix.NumerixRequestProto")
Response = message_class("numerix.NumerixResponseProto")
Handle = Callable[[Any, Any], Any]

BOOK = ExpressionBook(
    {"sum": "a + b", "ratio": "a / b", "share": "a / sum(a)", "vary": "diversity(a, b, 0.5)"}
)


class Service:
    """A real server that answers as a test says, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.metadata: dict[str, Any] = {}
        self.answer: Handle = lambda data, _: scored(data)
        self._lock = threading.Lock()
        self.address = ""

    def __call__(self, body: bytes, context: grpc.ServicerContext) -> bytes:
        data = Request.FromString(body).entity_score_data
        with self._lock:
            self.asked.append(data)
            self.metadata = {each.key: each.value for each in context.invocation_metadata()}
        answer = self.answer(data, context)
        written: bytes = answer.SerializeToString()
        return written


def scored(data: Any, *, score: Callable[[list[float]], Any] = sum) -> Any:
    """Each row's values added up, with its id."""
    rows = []
    dtype = np.float32 if data.data_type == "fp32" else np.float64
    for row in data.entity_scores:
        each, *cells = row.byte_data.values
        value = score([float(np.frombuffer(cell, dtype)[0]) for cell in cells])
        told = b"" if value is None else dtype(value).tobytes()
        rows.append({"byte_data": {"values": [each, told]}})
    schema = [data.schema[0], "score"]
    return Response(computation_score_data={"schema": schema, "computation_scores": rows})


@contextmanager
def serving() -> Iterator[Service]:
    service = Service()
    server = grpc.server(ThreadPoolExecutor(8))
    methods = {"Compute": grpc.unary_unary_rpc_method_handler(service)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("numerix.Numerix", methods),)
    )
    service.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield service
    finally:
        server.stop(None).wait()


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


def ran(
    service: Service | str,
    columns: Sequence[Any],
    *,
    compute_id: str = "sum",
    variables: tuple[str, ...] = ("a", "b"),
    precision: DType = FP32,
    strict: bool = False,
    deadline: Deadline | None = None,
) -> Computed:
    address = service if isinstance(service, str) else service.address

    async def no_wait(_: float) -> None: ...

    async def run() -> Computed:
        headers = (("numerix-caller-id", "shop"),)
        options = ComputeOptions(LineOptions(headers=headers, wait=no_wait))
        runner = RemoteCompute(compute_line(address, options), BOOK, options)
        prepared = runner.prepare(compute_id, variables, precision=precision, strict=strict)
        arrays = [np.asarray(column) for column in columns]
        rows = max(len(array) for array in arrays)
        return await prepared.run(arrays, rows, deadline=deadline or Deadline(10_000))

    return asyncio.run(run())


# --- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize(("precision", "name", "size"), [(FP32, "fp32", 4), (FP64, "fp64", 8)])
def test_the_precision_of_the_step_is_sent(
    service: Service, precision: DType, name: str, size: int
) -> None:
    computed = ran(service, [[0.1, 1.0], [0.2, 2.0]], precision=precision)
    data = service.asked[0]
    assert (data.compute_id, data.data_type, list(data.schema)) == ("sum", name, ["id", "a", "b"])
    values = [row.byte_data.values for row in data.entity_scores]
    assert all(len(cell) == size for row in values for cell in row[1:])
    assert computed.values.dtype == precision.numpy
    assert service.metadata["numerix-caller-id"] == "shop"


def test_integers_and_single_values_become_a_number_per_row(service: Service) -> None:
    computed = ran(service, [np.array([1, 2, 3]), np.array([10.0])])
    assert computed.values.tolist() == [11.0, 12.0, 13.0]
    assert computed.invalid is None


def test_the_ids_have_a_name_that_no_variable_has(service: Service) -> None:
    ran(service, [[1.0], [2.0]], variables=("id", "id_"), compute_id="elsewhere")
    assert list(service.asked[0].schema) == ["id__", "id", "id_"]


@pytest.mark.parametrize("column", [np.array(["x", "y"], object), np.zeros((2, 3))])
def test_text_and_vectors_do_not_travel(service: Service, column: Any) -> None:
    with pytest.raises(ComputeFailed, match=r"column 'b' holds .* where a number is needed"):
        ran(service, [[1.0, 2.0], column])
    assert not service.asked


def test_ids_that_would_become_equal_on_the_way_are_refused(service: Service) -> None:
    ids = np.array([2**24, 2**24 + 1])
    with pytest.raises(ComputeFailed, match="'b' tells rows apart and does not fit FP32"):
        ran(service, [[1.0, 2.0], ids], compute_id="vary")
    ran(service, [[1.0, 2.0], ids], compute_id="vary", precision=FP64)


# --- batches --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compute_id", "size"), [("sum", 10), ("share", None), ("vary", None), ("unknown", None)]
)
def test_only_rows_that_surely_do_not_depend_on_each_other_may_come_in_batches(
    compute_id: str, size: int | None
) -> None:
    options = ComputeOptions(batch_size=10)
    runner = RemoteCompute(compute_line("127.0.0.1:1", options), BOOK, options)
    prepared = runner.prepare(compute_id, ("a", "b"), precision=FP32, strict=False)
    assert prepared.batch_size == size


# --- answers --------------------------------------------------------------------------------


def test_rows_come_back_in_their_places_in_whatever_order_they_are_answered(
    service: Service,
) -> None:
    def answer(data: Any, _: Any) -> Any:
        reply = scored(data)
        rows = reply.computation_score_data.computation_scores
        mixed = list(rows)[::-1]
        del rows[:]
        rows.extend(mixed)
        return reply

    service.answer = answer
    assert ran(service, [np.arange(5), np.array([0])]).values.tolist() == [0, 1, 2, 3, 4]


def _without_last(data: Any, _: Any) -> Any:
    reply = scored(data)
    del reply.computation_score_data.computation_scores[-1]
    return reply


def _all_the_same(data: Any, _: Any) -> Any:
    reply = scored(data)
    rows = reply.computation_score_data.computation_scores
    for row in rows:
        row.CopyFrom(rows[0])
    return reply


def _too_wide(data: Any, _: Any) -> Any:
    data.data_type = "fp32" if data.data_type == "fp64" else "fp64"
    reply = Response(computation_score_data={})
    for row in data.entity_scores:
        values = [row.byte_data.values[0], np.float64(1).tobytes()]
        reply.computation_score_data.computation_scores.add(byte_data={"values": values})
    return reply


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_without_last, r"2 row\(s\) came back for 3"),
        (_all_the_same, "others than asked"),
        (_too_wide, "8 bytes where a number takes 4"),
        (lambda *_: Response(), "the answer is empty"),
        (lambda *_: Response(error={"message": "told so"}), "told so"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(service: Service, answer: Handle, why: str) -> None:
    service.answer = answer
    with pytest.raises(ComputeFailed, match=why):
        ran(service, [np.arange(3), np.array([1])])


def test_a_row_without_an_answer_is_marked_where_the_service_says_so(service: Service) -> None:
    def answer(data: Any, _: Any) -> Any:
        reply = scored(data, score=lambda row: None if row[1] == 0 else row[0] / row[1])
        reply.computation_score_data.blank_reason = "division by zero"
        return reply

    service.answer = answer
    computed = ran(service, [[1.0, 6.0], [0.0, 3.0]], compute_id="ratio")
    prepared = EmbeddedCompute(BOOK).prepare("ratio", ("a", "b"), precision=FP32, strict=False)
    columns = [np.array([1.0, 6.0]), np.array([0.0, 3.0])]
    near = asyncio.run(prepared.run(columns, 2, deadline=None))
    assert computed.values.tobytes() == near.values.tobytes()
    assert computed.invalid is not None
    assert near.invalid is not None
    assert computed.invalid.tolist() == near.invalid.tolist() == [True, False]
    assert computed.reason == near.reason
    assert service.asked[0].blank_rows


def test_a_strict_step_asks_for_all_rows_or_none(service: Service) -> None:
    ran(service, [[1.0], [2.0]], strict=True)
    assert not service.asked[0].blank_rows


# --- servers in trouble ---------------------------------------------------------------------


def test_a_server_that_is_away_for_a_moment_is_asked_again(service: Service) -> None:
    left = [grpc.StatusCode.UNAVAILABLE] * 2

    def answer(data: Any, context: Any) -> Any:
        if left:
            context.abort(left.pop(), "leaving")
        return scored(data)

    service.answer = answer
    assert ran(service, [[1.0], [2.0]]).values.tolist() == [3.0]
    assert len(service.asked) == 3


def test_no_other_status_is_repeated(service: Service) -> None:
    service.answer = lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "broken")
    with pytest.raises(ComputeFailed, match="answered INTERNAL: broken"):
        ran(service, [[1.0], [2.0]])
    assert len(service.asked) == 1


def test_a_server_that_is_not_there_is_named() -> None:
    with serving() as gone:
        address = gone.address
    with pytest.raises(Unreachable, match=address):
        ran(address, [[1.0], [2.0]])


def test_a_deadline_that_is_past_is_said_without_a_call(service: Service) -> None:
    now = [0.0]
    deadline = Deadline(100, clock=lambda: now[0])
    now[0] = 0.2
    with pytest.raises(DeadlinePassed, match="expression 'sum' at"):
        ran(service, [[1.0], [2.0]], deadline=deadline)
    assert not service.asked
