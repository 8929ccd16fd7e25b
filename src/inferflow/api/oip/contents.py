"""The values of an input, however they came, as the array the model takes."""

from __future__ import annotations

from typing import Any

from inferflow.client.oip.answer import LISTS
from inferflow.client.oip.datatypes import BYTES, from_bytes, from_list
from inferflow.dtypes import Array
from inferflow.errors import InvalidInput


def read_raw(raw: bytes, datatype: str, shape: tuple[int, ...]) -> Array:
    """Values as raw bytes: a view of them, except for texts. Raises InvalidInput."""
    return _utf8(from_bytes(raw, datatype, shape), datatype)


def read_contents(contents: Any, datatype: str, shape: tuple[int, ...]) -> Array:
    """Values that came one by one. Raises InvalidInput."""
    name = LISTS.get(datatype)
    if name is None:
        raise InvalidInput(f"{datatype} can only be sent as raw bytes (raw_input_contents)")
    filled = [each.name for each, _ in contents.ListFields()]
    if filled and filled != [name]:
        raise InvalidInput(f"{datatype} values belong in {name}, not in {', '.join(filled)}")
    return _utf8(from_list(getattr(contents, name), datatype, shape), datatype)


def _utf8(values: Array, datatype: str) -> Array:
    """Bytes that are no text are kept by the codec, but no model here takes them."""
    if datatype == BYTES:
        try:
            "".join(values.ravel().tolist()).encode()
        except UnicodeEncodeError:
            raise InvalidInput("an element is not UTF-8 text") from None
    return values
