"""Parts of a back office that answer with what is known, and keep what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferflow.api.gateway.management.ports import KeyWish, LogQuery, Text

Facts = dict[str, Any]

STATUS = {
    "id": "ranker",
    "file": "configs/ranker.yaml",
    "state": "serving",
    "version": 3,
    "hash": "h3",
    "plan": "d3",
    "accepted_ms": 1,
    "origin": "push",
    "author": "ann",
    "split": None,
    "errors": 0,
    "problems": [],
}
VERSION = {
    "number": 4,
    "hash": "h4",
    "author": "ann",
    "at_ms": 1,
    "origin": "push",
    "checks": "golden",
    "note": "",
    "is_removal": False,
    "is_current": True,
}
PLAN = {
    "id": "ranker",
    "digest": "d3",
    "target_entity": "",
    "nodes": [
        {
            "id": "fs_user",
            "kind": "feature",
            "level": 1,
            "unit": "targets",
            "reads": ["context:user:user_id"],
            "writes": [
                {
                    "column": "user:profile:age",
                    "dtype": "FP32",
                    "width": 1,
                    "source": "feature store: user",
                    "read_by": ["model"],
                }
            ],
            "facts": {"entity": "user"},
        }
    ],
    "edges": [{"from": "feature_initializer", "to": "fs_user"}],
    "response_columns": ["model:score"],
    "request_columns": ["context:user:user_id"],
    "inputs": {"entities": ["user"], "context": [], "features": ["user:profile:age"]},
}


@dataclass
class KnownConfigs:
    asked: list[Any] = field(default_factory=list)
    refuses: Exception | None = None

    def _did(self, *what: Any) -> None:
        self.asked.append(what)
        if self.refuses is not None:
            raise self.refuses

    async def statuses(self) -> list[Facts]:
        return [STATUS]

    async def get(self, config_id: str) -> Facts:
        self._did("get", config_id)
        return {"status": STATUS, "text": "a: 1", "format": "yaml", "version": 3, "hash": "h3"}

    async def plan(self, config_id: str) -> Facts:
        self._did("plan", config_id)
        return PLAN

    async def validate(self, written: Text, config_id: str) -> Facts:
        self._did("validate", written, config_id)
        problem = {"where": "a", "what": "b", "severity": "error", "line": 2, "column": 3}
        return {"ok": False, "id": "ranker", "problems": [problem], "plan": None}

    async def check(self, config_id: str, written: Text) -> Facts:
        self._did("check", config_id, written)
        golden = [{"request": "r", "passed": True, "difference": 0.0, "detail": ""}]
        return {"ok": True, "id": "ranker", "problems": [], "golden": golden, "diff": ["+a"]}

    async def publish(self, config_id: str, written: Text, **more: Any) -> Facts:
        self._did("publish", config_id, written, more)
        return {"version": VERSION, "golden": [], "notes": []}

    async def history(self, config_id: str) -> list[Facts]:
        self._did("history", config_id)
        return [VERSION]

    async def version(self, config_id: str, number: int) -> Facts:
        self._did("version", config_id, number)
        return {"version": VERSION, "text": "a: 1", "format": "yaml"}

    async def difference(self, config_id: str, old: int, new: int) -> Facts:
        self._did("difference", config_id, old, new)
        return {"from": old, "to": new, "lines": ["-a", "+b"]}

    async def roll_back(self, config_id: str, **more: Any) -> Facts:
        self._did("roll_back", config_id, more)
        return {"version": VERSION, "golden": [], "notes": []}


def answer_of(score: float) -> Facts:
    return {
        "model_config_id": "ranker",
        "arm": None,
        "tracking_id": "t",
        "config_version": "d3",
        "columns": ["model:score"],
        "request_error": None,
        "recording": None,
        "targets": [{"id": "1", "rank": 1, "scores": {"model:score": score}, "error": None}],
    }


RUN = {
    "model_config_id": "ranker",
    "config_version": "d3",
    "targets": 1,
    "unit": "target",
    "total_us": 10.0,
    "failure": "",
    "steps": [
        {
            "step": "fs_user",
            "kind": "feature",
            "start_us": 1.0,
            "duration_us": 2.0,
            "rows": 1,
            "unit": "row",
            "skipped": "",
            "error": "",
            "cache_hits": 1,
        }
    ],
    "bound": [],
    "unused": [],
    "errors": {},
}


@dataclass
class KnownPlayground:
    asked: list[Any] = field(default_factory=list)
    refuses: Exception | None = None

    async def samples(self, config_id: str) -> list[Facts]:
        return [{"name": "one", "request": {"model_config_id": config_id}}]

    async def play(
        self, config_id: str, request: Facts, *, item: str | None, overrides: Facts
    ) -> Facts:
        self.asked.append((config_id, request, item, overrides))
        if self.refuses is not None:
            raise self.refuses
        column = {
            "column": "user:profile:age",
            "dtype": "FP32",
            "value": float("nan"),
            "step": "fs_user",
            "state": "real",
            "source": "user[user_id=7]",
            "age_s": 3.0,
        }
        row = {"row": 0, "of": 1, "error": "", "scores": {"model:score": 0.5}, "columns": [column]}
        matrix_column = {
            "column": "user:profile:age",
            "step": "fs_user",
            "at_us": 3.0,
            "dtype": "FP32",
            "min": None,
            "max": None,
            "sample": ["nan"],
            "defaults": 0,
        }
        return {
            "answer": answer_of(0.5),
            "baseline": answer_of(0.4),
            "run": RUN,
            "item": {"item": "1", "rows": [row]},
            "matrix": {"columns": [matrix_column], "rows": 1, "ids": ["1"]},
        }


LINE = {
    "recording": "ab-1",
    "kept_because": "slow",
    "at_ms": 1,
    "request_id": "r",
    "tracking_id": "t",
    "method": "/Predict/InferPointWise",
    "model_config_id": "ranker",
    "config_version": "d3",
    "arm": "",
    "rows": 1,
    "duration_us": 10.0,
    "error": "",
    "longest_step": "fs_user",
    "has_values": False,
}


@dataclass
class KnownRecordings:
    asked: list[Any] = field(default_factory=list)
    refuses: Exception | None = None

    async def latest(self, last: int) -> list[Facts]:
        self.asked.append(last)
        return [LINE]

    async def get(self, recording: str, item: str) -> Facts:
        self.asked.append((recording, item))
        if self.refuses is not None:
            raise self.refuses
        return {**LINE, "run": RUN, "item": None}


MODEL_VERSION = {
    "model": "like",
    "version": "2",
    "stage": "dev",
    "digest": "d",
    "size": 3,
    "created_ms": 1,
    "created_by": "k",
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 1]}],
    "files": [{"path": "model.onnx", "size": 3, "sha256": "s"}],
    "history": [{"from": "", "to": "dev", "at_ms": 1, "by": "k", "reason": ""}],
    "options_json": "",
    "description": "",
    "loaded_on": [],
    "problem": "",
    "note": "",
}
KEY = {
    "key_id": "k1",
    "name": "shop",
    "permissions": ["inference"],
    "models": [],
    "created_ms": 1,
    "expires_ms": 0,
    "revoked_ms": 0,
    "requests_per_second": 0.0,
    "burst": 0,
    "requests": 0,
    "last_used_ms": 0,
    "is_own": False,
}
WORKER = {
    "worker_id": "w1",
    "address": "127.0.0.1:1",
    "state": "online",
    "registered_ms": 1,
    "last_seen_ms": 2,
    "slots": 2,
    "devices": [],
    "report": {
        "cpu_percent": 1.0,
        "memory_bytes": 2,
        "devices": [],
        "in_flight": 0,
        "queued": 0,
        "latency_p50_ms": 0.0,
        "latency_p95_ms": 0.0,
        "latency_p99_ms": 0.0,
        "requests": 0,
        "failures": 0,
        "models": [],
    },
    "labels": {},
    "software_version": "1",
}


@dataclass
class KnownFleet:
    asked: list[Any] = field(default_factory=list)
    refuses: Exception | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def _did(self, *what: Any) -> None:
        self.asked.append(what)
        if self.refuses is not None:
            raise self.refuses

    async def models(self, credential: str) -> list[Facts]:
        self._did("models", credential)
        return [{"name": "like", "versions": [MODEL_VERSION], "traffic": {}}]

    async def model(self, credential: str, name: str) -> Facts:
        self._did("model", credential, name)
        return {"name": name, "versions": [MODEL_VERSION], "traffic": {"2": 100.0}}

    async def upload(
        self, credential: str, name: str, files: Mapping[str, Path], **more: str
    ) -> Facts:
        self._did("upload", credential, name, more)
        self.files = {each: path.read_bytes() for each, path in files.items()}
        return MODEL_VERSION

    async def promote(
        self, credential: str, name: str, version: str, stage: str, reason: str
    ) -> Facts:
        self._did("promote", credential, name, version, stage, reason)
        return MODEL_VERSION

    async def delete_version(self, credential: str, name: str, version: str) -> None:
        self._did("delete", credential, name, version)

    async def set_traffic(self, credential: str, name: str, traffic: Mapping[str, float]) -> Facts:
        self._did("traffic", credential, name, traffic)
        return {"name": name, "versions": [], "traffic": traffic}

    async def workers(self, credential: str) -> list[Facts]:
        self._did("workers", credential)
        return [WORKER]

    async def drain(self, credential: str, worker_id: str) -> None:
        self._did("drain", credential, worker_id)

    async def keys(self, credential: str) -> list[Facts]:
        self._did("keys", credential)
        return [KEY]

    async def create_key(self, credential: str, wish: KeyWish) -> Facts:
        self._did("create", credential, wish)
        return {"key": KEY, "text": "ifk_secret"}

    async def revoke_key(self, credential: str, key_id: str) -> Facts:
        self._did("revoke", credential, key_id)
        return KEY

    async def audit(self, credential: str, limit: int) -> list[Facts]:
        self._did("audit", credential, limit)
        entry = {"at_ms": 1, "by": "k", "action": "key created", "subject": "k1"}
        return [{**entry, "detail_json": "{}"}]


@dataclass
class KnownFeatures:
    asked: list[Any] = field(default_factory=list)
    refuses: Exception | None = None

    async def schema(self) -> Facts:
        feature = {"name": "age", "dtype": "FP32", "default": float("nan"), "dim": None}
        group = {"name": "profile", "ttl_s": None, "features": [feature]}
        entity = {"name": "user", "keys": ["user_id"], "groups": [group]}
        return {"entities": [entity], "backend": "lmdb"}

    async def lookup(
        self, entity: str, keys: Sequence[Sequence[Any]], groups: Sequence[str]
    ) -> list[Facts]:
        self.asked.append((entity, keys, groups))
        if self.refuses is not None:
            raise self.refuses
        value = {"value": 1.5, "state": "real"}
        group = {"state": "real", "written_ms": 5, "expires_ms": None, "values": {"age": value}}
        return [{"key": ["7"], "groups": {"profile": group}}]

    async def put(self, entity: str, group: str, rows: Sequence[Facts]) -> int:
        self.asked.append((entity, group, rows))
        if self.refuses is not None:
            raise self.refuses
        return len(rows)


@dataclass
class KnownLogs:
    asked: list[LogQuery] = field(default_factory=list)

    async def page(self, query: LogQuery) -> Facts:
        self.asked.append(query)
        record = {
            "at_ms": 1,
            "model_config_id": "ranker",
            "config_version": "d3",
            "tracking_id": "t",
            "user": "7",
            "kind": "targets",
            "rows": [{"id": "1", "model:score": float("inf")}],
        }
        return {"sink": "files", "records": [record], "next": "5-1"}

    async def stats(self) -> Facts:
        counted = [
            {
                "model_config_id": "ranker",
                "parts": 1,
                "bytes": 2,
                "requests": 3,
                "rows": {"targets": 3},
                "failed_rows": 0,
                "config_versions": {"d3": 3},
                "models": {},
                "first": "",
                "last": "",
            }
        ]
        return {"configs": counted, "unreadable": ["ranker/2026/a.parquet"]}


class KnownSettings:
    async def settings(self) -> list[Facts]:
        return [
            {
                "name": "etcd.password",
                "value": "***",
                "unit": "",
                "source": "default",
                "meaning": "And how.",
                "unused": "",
                "environment": ["ETCD_PASSWORD"],
            }
        ]


NUMBERS = {
    "type": "metrics",
    "at_ms": 5,
    "overview": {
        "rate": 1.0,
        "errors_per_s": 0.0,
        "p50_ms": None,
        "p95_ms": None,
        "p99_ms": None,
        "in_flight": 0,
    },
    "configs": {},
}


@dataclass
class KnownLive:
    messages: list[Facts]
    closed: bool = False
    goes_on: bool = False
    """After the last message there might be another."""

    def latest(self) -> Facts:
        return NUMBERS

    async def listen(self) -> AsyncIterator[Facts]:
        for message in self.messages:
            yield message
        if self.goes_on:
            await asyncio.Event().wait()

    async def close(self) -> None:
        self.closed = True
