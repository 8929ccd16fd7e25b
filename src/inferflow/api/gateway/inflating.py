"""Bodies that come compressed, inflated as they come and never beyond what is allowed."""

from __future__ import annotations

import zlib
from typing import Literal

from inferflow.errors import BodyTooLarge, InvalidRequest

Encoding = Literal["gzip", "deflate"]

_WINDOW: dict[str, int] = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_FIELD = "content-encoding"


class Inflater:
    """One body of a known encoding."""

    def __init__(self, encoding: str, most: int) -> None:
        self._encoding = encoding
        self._inflate = zlib.decompressobj(_WINDOW[encoding])
        self._most = most
        self._given = 0

    @classmethod
    def of(cls, encoding: str, most: int) -> Inflater | None:
        """None for a body that is not compressed. Raises InvalidRequest for an encoding that is
        not known here."""
        encoding = encoding.strip().lower()
        if encoding in ("", "identity"):
            return None
        if encoding not in _WINDOW:
            raise InvalidRequest(_FIELD, f"{encoding[:40]!r} is not known; gzip and deflate are")
        return cls(encoding, most)

    def feed(self, data: bytes, *, is_last: bool) -> bytes:
        """What more bytes of the body make. Raises InvalidRequest when they make nothing, or
        BodyTooLarge when they make too much."""
        try:
            found = self._inflate.decompress(data, self._most - self._given + 1)
        except zlib.error:
            raise InvalidRequest(_FIELD, f"the body is not {self._encoding}") from None
        self._given += len(found)
        if self._given > self._most:
            raise BodyTooLarge("body", f"inflated, it is more than {self._most} bytes")
        if is_last and self._given and not self._inflate.eof:
            raise InvalidRequest(_FIELD, f"the body ends before its {self._encoding} data does")
        return found


def deflated(body: bytes, accepted: str) -> tuple[bytes, str]:
    """The body as the caller would rather have it, and the encoding's name; itself, and nothing,
    for a caller that names none of ours."""
    wanted = [part.partition(";")[0].strip().lower() for part in accepted.split(",")]
    encoding = next((name for name in wanted if name in _WINDOW), "")
    if not encoding:
        return body, ""
    deflate = zlib.compressobj(1, zlib.DEFLATED, _WINDOW[encoding])
    return deflate.compress(body) + deflate.flush(), encoding
