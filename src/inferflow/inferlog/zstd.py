"""Whole messages as one zstd frame, which carries its size. The one home of zstandard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from inferflow.errors import InvalidInput, MissingExtra

MAGIC = b"\x28\xb5\x2f\xfd"
"""How a frame begins."""


def compressor() -> Callable[[bytes], bytes]:
    compress: Callable[[bytes], bytes] = _zstandard().ZstdCompressor(level=3).compress
    return compress


def decompressed(value: bytes) -> bytes:
    """Raises InvalidInput when it is no frame, or one without its size."""
    zstandard = _zstandard()
    try:
        plain: bytes = zstandard.ZstdDecompressor().decompress(value)
    except zstandard.ZstdError as broken:
        raise InvalidInput(f"this message cannot be decompressed: {broken}") from broken
    return plain


def _zstandard() -> Any:
    try:
        import zstandard
    except ModuleNotFoundError as missing:
        raise MissingExtra("kafka", for_what="compressed inference logs") from missing
    return zstandard
