"""A real `inferflow numerix`, and calls to it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import grpc

from inferflow._proto.pool import message_class

from . import role_process
from .role_process import Process

Request = message_class("numerix.NumerixRequestProto")
Response = message_class("numerix.NumerixResponseProto")


def launch(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return role_process.launch("numerix", str(folder), *arguments, **environment)


def start(folder: Path, *arguments: str, port: int = 0, **environment: str) -> Process:
    ports = ("--port", str(port), "--http-port", "0")
    return Process.ready(launch(folder, *ports, *arguments, **environment), "(?:not )?ready, .*")


def computed(process: Process, compute_id: str, *rows: list[str]) -> Any:
    """The answer to rows of the columns a and b, as texts."""
    scores = [{"string_data": {"values": ["row", *row]}} for row in rows]
    data = {"schema": ["id", "a", "b"], "entity_scores": scores, "compute_id": compute_id}
    with grpc.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        call = channel.unary_unary("/numerix.Numerix/Compute")
        body = Request(entity_score_data=data).SerializeToString()
        return Response.FromString(call(body, timeout=30))


def scores(answer: Any) -> list[str]:
    return [row.string_data.values[1] for row in answer.computation_score_data.computation_scores]
