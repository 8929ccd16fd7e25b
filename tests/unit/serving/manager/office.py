"""One manager for tests: its services, a clock that stands still, and an event loop of its own.

Models are not looked at here: a stand-in finds what it is told to find. The real checks have tests
of their own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from inferflow.access import OPERATOR, KeyCard, ModelPatterns, Permission
from inferflow.errors import ModelUnreadable
from inferflow.serving.manager.intake import Findings, IntakeLimits
from inferflow.serving.manager.orders import UploadLimits, UploadOrder
from inferflow.serving.manager.publishing import Publishing
from inferflow.serving.manager.services import ManagerRules, Services, open_services
from inferflow.serving.manager.storage.records import FileInfo, Stage, Tensor, Upload, Version
from inferflow.testing import ManualClock

T = TypeVar("T")

SECRET = bytes(range(32))
NOW = 1_800_000_000.0

FOUND = Findings((Tensor("x", "FP32", (-1, 2)),), (Tensor("y", "FP32", (-1,)),))


def card(key_id: str, *permissions: Permission, models: Sequence[str] = ()) -> KeyCard:
    return KeyCard(key_id, key_id, frozenset(permissions), ModelPatterns(tuple(models)), 0)


UPLOADER = card("uploader", Permission.UPLOAD)
WORKER = card("worker", Permission.WORKER)
CALLER = card("caller", Permission.INFERENCE)


def info(path: str, data: bytes) -> FileInfo:
    return FileInfo(path, len(data), hashlib.sha256(data).hexdigest())


def order(model: str = "ranker", number: int | None = None, **files: bytes) -> UploadOrder:
    contents = {"model.onnx": b"a model"} | {f"{name}.bin": data for name, data in files.items()}
    return UploadOrder(model, tuple(info(path, data) for path, data in contents.items()), number)


class Checks:
    """Stands in for looking at a model."""

    def __init__(self) -> None:
        self.seen: list[dict[str, bytes]] = []
        self.refuses = ""
        self.fails: BaseException | None = None

    async def __call__(
        self, model: str, folder: Path, files: Sequence[FileInfo], limits: IntakeLimits
    ) -> Findings:
        self.seen.append({file.path: (folder / file.path).read_bytes() for file in files})
        if self.fails is not None:
            raise self.fails
        if self.refuses:
            raise ModelUnreadable(model, self.refuses)
        return FOUND


class Office:
    def __init__(
        self, database: str, files: str | Path, *, limits: UploadLimits | None = None
    ) -> None:
        self.clock = ManualClock(NOW)
        self.checks = Checks()
        self._database = database
        self._files = files
        self._rules = ManagerRules(uploads=limits or UploadLimits(part_bytes=4))
        self._runner = asyncio.Runner()
        self.services = self._open()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def reopen(self) -> None:
        """What a restart of the manager does."""
        self.run(self.services.close())
        self.services = self._open()

    def another(self) -> Services:
        """A second manager over the same database and files, on the same loop."""
        return self._open()

    def close(self) -> None:
        self.run(self.services.close())
        self._runner.close()

    def upload(self, asked: UploadOrder, by: KeyCard = UPLOADER, **files: bytes) -> Upload:
        """Begin an upload and send everything."""
        contents = {"model.onnx": b"a model"} | {
            f"{name}.bin": data for name, data in files.items()
        }
        begun = self.run(self.services.uploads.begin(by, asked))
        for path, data in contents.items():
            for offset in range(0, len(data), 4):
                piece = data[offset : offset + 4]
                begun = self.run(
                    self.services.uploads.append(by, begun.upload_id, path, offset, piece)
                )
        return begun

    def publish(self, model: str = "ranker", stage: Stage = Stage.DEV) -> Version:
        begun = self.upload(order(model), by=OPERATOR)
        return self.run(self.services.publishing.finish(OPERATOR, begun.upload_id, stage))

    def _open(self) -> Services:
        opened = self.run(
            open_services(self._database, self._files, SECRET, self.clock, self._rules)
        )
        publishing = Publishing(
            opened.storage,
            opened.files,
            opened.live,
            opened.uploads,
            self.clock,
            opened.uploads._new_id,
            check=self.checks,
        )
        return dataclasses.replace(opened, publishing=publishing)
