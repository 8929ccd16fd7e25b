"""What somebody wants to upload, checked before the first byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inferflow.errors import InvalidInput
from inferflow.serving.manager.intake.inspecting import MODEL_FILE
from inferflow.serving.manager.names import check_file_paths, check_model_name, check_text
from inferflow.serving.manager.storage.records import FileInfo

LONGEST_DESCRIPTION = 4000
LARGEST_OPTIONS = 16_384
HIGHEST_NUMBER = 10**18

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much may be uploaded, by whom, and for how long."""

    upload_bytes: int = 2 << 30
    files: int = 64
    open_per_key: int = 8
    """Uploads one key may have under way."""
    key_bytes: int | None = None
    """What all versions and uploads of one key may take together."""
    lifetime_s: float = 86_400.0
    """An upload that nobody adds to for so long ends."""
    part_bytes: int = 8 << 20
    """What is received is stored in parts of this size."""


@dataclass(frozen=True, slots=True)
class UploadOrder:
    """A new version: its model, its files and what shall be known about it."""

    model: str
    files: tuple[FileInfo, ...]
    number: int | None = None
    """None takes the next one."""
    options: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""


def check_order(order: UploadOrder, limits: UploadLimits) -> None:
    """Raises InvalidInput, naming the field and what it may be."""
    check_model_name(order.model)
    if not 0 < len(order.files) <= limits.files:
        raise InvalidInput(f"files: {len(order.files)}; a version has 1 to {limits.files}")
    check_file_paths(file.path for file in order.files)
    for file in order.files:
        if not _SHA256.fullmatch(file.sha256):
            raise InvalidInput(f"files[{file.path!r}].sha256: not 64 hexadecimal digits")
        if file.size < 0:
            raise InvalidInput(f"files[{file.path!r}].size: {file.size}")
    if not any(file.path == MODEL_FILE and file.size for file in order.files):
        raise InvalidInput(f"files: the model itself must be there, as {MODEL_FILE!r}")
    total = sum(file.size for file in order.files)
    if total > limits.upload_bytes:
        raise InvalidInput(f"files: {total} bytes; an upload has at most {limits.upload_bytes}")
    if order.number is not None and not 0 < order.number < HIGHEST_NUMBER:
        raise InvalidInput(f"version: {order.number} is not a number from 1 on")
    check_text("description", order.description, longest=LONGEST_DESCRIPTION)
    _check_options(order.options)


def _check_options(options: Mapping[str, Any]) -> None:
    try:
        written = json.dumps(dict(options), allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as failed:
        raise InvalidInput(f"options: cannot be written as JSON: {failed}") from failed
    if len(written) > LARGEST_OPTIONS or b"\\u0000" in written:
        raise InvalidInput(f"options: more than {LARGEST_OPTIONS} bytes of JSON, or a zero in it")
