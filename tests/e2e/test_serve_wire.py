"""Requests as the original protocol's clients send them, byte for byte, and the answers' bytes.

`python -m tests.e2e.test_serve_wire` writes the fixtures again; they change only when the
requests below do.
"""

from __future__ import annotations

import struct
from pathlib import Path

import grpc
import pytest

from .plain_wire import data, every, fp32, int32, integer
from .serving_process import Process
from .test_serve import server, shop

__all__ = ["server", "shop"]  # fixtures of the neighbouring file

WIRE = Path(__file__).parent / "wire"
FP32, INT32, STRING = 4, 8, 14
IDS = ("2", "25", "28", "1950")

TARGETS = {field: b"".join(data(field, data(1, each)) for each in IDS) for field in (5, 7)}
USER = data(3, data(1, "user_id") + data(2, "7") + integer(3, STRING))
HOUR = data(3, data(1, "hour") + data(2, int32(20)) + integer(3, INT32))


def _pair(first: int, second: int, gap: float) -> bytes:
    return data(6, integer(1, first) + integer(2, second) + data(3, fp32(gap)))


def _slate(visibility: float, *rows: int) -> bytes:
    return data(6, data(1, bytes(rows)) + data(2, fp32(visibility)))


def _entity(name: str, *ids: str) -> bytes:
    return data(1, data(1, name) + b"".join(data(2, each) for each in ids))


REQUESTS = {
    "InferPointWise": data(1, "ranker") + data(2, "t-1") + USER + HOUR + TARGETS[5] + data(6, "me"),
    "InferPairWise": data(1, "pairs")
    + data(5, data(1, "position_gap") + integer(2, FP32))
    + _pair(0, 1, 1.0)
    + _pair(1, 0, -1.0)
    + TARGETS[7],
    "InferSlateWise": data(1, "page")
    + USER
    + HOUR
    + data(5, data(1, "visibility") + integer(2, FP32))
    + _slate(1.0, 0, 1, 2)
    + TARGETS[7],
    "RetrieveModelScore": _entity("product", *IDS)
    + _entity("user", "7")
    + _entity("hour", "20")
    + data(2, "ranker")
    + data(3, "t-1"),
}


def fixture(name: str) -> bytes:
    return bytes.fromhex((WIRE / f"{name}.hex").read_text())


@pytest.mark.parametrize("name", REQUESTS)
def test_the_kept_bytes_are_what_the_encoder_writes(name: str) -> None:
    assert fixture(name) == REQUESTS[name]


def ask(server: Process, service: str, name: str) -> bytes:
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        answer: bytes = channel.unary_unary(f"/{service}/{name}")(fixture(name), timeout=10)
        return answer


def floats(rows: list[bytes], column: int) -> list[float]:
    return [struct.unpack("<f", every(row, 2)[column])[0] for row in rows]


CLICKS = [0.5462631, 0.42812678, 0.62153083, 0.8164573]


def test_targets_are_answered(server: Process) -> None:
    answer = ask(server, "Predict", "InferPointWise")
    names = [every(entry, 1)[0].decode() for entry in every(answer, 1)]
    types = [every(entry, 2)[0] for entry in every(answer, 1)]
    rows = every(answer, 2)
    assert names[2:3] == ["click_model:click"]
    assert types == [STRING, FP32, FP32, FP32, FP32]
    assert floats(rows, 2) == pytest.approx(CLICKS, abs=1e-5)
    assert [every(row, 1) for row in rows] == [[], [], [], []]
    assert every(answer, 3) == []


def test_pairs_are_answered(server: Process) -> None:
    answer = ask(server, "Predict", "InferPairWise")
    assert [every(entry, 1)[0] for entry in every(answer, 4)] == [b"pair_model:preference"]
    assert floats(every(answer, 1), 0) == pytest.approx([0.6575508, 0.3424492], abs=1e-5)
    assert [every(entry, 1)[0] for entry in every(answer, 3)] == [b"product:attributes:title"]
    assert len(every(answer, 2)) == len(IDS)


def test_slates_are_answered(server: Process) -> None:
    answer = ask(server, "Predict", "InferSlateWise")
    names = [every(entry, 1)[0] for entry in every(answer, 4)]
    at = names.index(b"page_model:order")
    assert floats(every(answer, 1), at) == pytest.approx([0.34080297], abs=1e-4)
    assert len(every(answer, 2)) == len(IDS)


def test_the_older_call_is_answered(server: Process) -> None:
    header, *rows = every(ask(server, "Inferflow", "RetrieveModelScore"), 1)
    names = every(header, 1)
    at = names.index(b"click_model:click")
    assert [float(every(row, 1)[at]) for row in rows] == pytest.approx(CLICKS, abs=1e-5)


if __name__ == "__main__":
    WIRE.mkdir(exist_ok=True)
    for each, body in REQUESTS.items():
        (WIRE / f"{each}.hex").write_text(body.hex("\n", 40) + "\n")
