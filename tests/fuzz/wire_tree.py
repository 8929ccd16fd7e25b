"""Protobuf bytes as a tree that can be changed and written again.

Changing bytes blindly mostly breaks a length somewhere, and then only the parser is tested. Here a
field is changed, repeated, dropped or moved as a whole, and the lengths around it stay true, so
what comes out reaches the code behind the parser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

ODD_NUMBERS = (0, 1, 2, 14, 15, 29, 30, 31, 127, 2**31 - 1, 2**31, 2**32, 2**63, 2**64 - 1)
ODD_BYTES = (
    b"",
    b"\x00",
    b"\x02",
    b"7",
    b"nan",
    b"1e999",
    b"1:2",
    b"\xff\xfe",
    "é".encode(),
    b"\xed\xa0\x80",
    b"\x00\x00\xc0\x7f",
    b"\xff" * 8,
    b"x" * 600,
    b"user_id",
    b"item_id",
    b"context:item:item_id",
    b"boost",
    b"hour",
)


@dataclass
class Node:
    """One field: its number, how it is written, and what it holds."""

    number: int
    kind: int
    value: int | bytes | list[Node] = field(default=0)


def read(message: bytes, depth: int = 6) -> list[Node] | None:
    """The fields of a message; None when these bytes are not one."""
    at, nodes = 0, []
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if at < 0 or number == 0:
            return None
        if kind == VARINT:
            value, at = _varint(message, at)
            if at < 0:
                return None
            nodes.append(Node(number, kind, value))
            continue
        if kind == BYTES:
            length, at = _varint(message, at)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            return None
        if at < 0 or at + length > len(message):
            return None
        raw, at = message[at : at + length], at + length
        inner = read(raw, depth - 1) if kind == BYTES and len(raw) > 1 and depth else None
        nodes.append(Node(number, kind, inner or raw))
    return nodes


def write(nodes: list[Node]) -> bytes:
    out = bytearray()
    for node in nodes:
        out += _number(node.number << 3 | node.kind)
        value = node.value
        if isinstance(value, int):
            out += _number(value)
            continue
        raw = write(value) if isinstance(value, list) else value
        out += (_number(len(raw)) if node.kind == BYTES else b"") + raw
    return bytes(out)


def changed(message: bytes, chance: Random, longest: int) -> bytes:
    """The message with one to three of its fields changed. What is not a message comes back."""
    nodes = read(message)
    if not nodes:
        return message
    for _ in range(chance.randint(1, 3)):
        level = _some_level(nodes, chance)
        if level:
            chance.choice(_CHANGES)(level, chance)
    written = write(nodes)
    return written if len(written) <= longest else message


def _some_level(nodes: list[Node], chance: Random) -> list[Node]:
    """The fields of the message itself, or of one inside it."""
    while True:
        inner = [node.value for node in nodes if isinstance(node.value, list)]
        if not inner or chance.random() < 0.3:
            return nodes
        nodes = chance.choice(inner)


def _drop(level: list[Node], chance: Random) -> None:
    del level[chance.randrange(len(level))]


def _repeat(level: list[Node], chance: Random) -> None:
    level.extend([chance.choice(level)] * chance.choice((1, 2, 20)))


def _swap(level: list[Node], chance: Random) -> None:
    chance.shuffle(level)


def _renumber(level: list[Node], chance: Random) -> None:
    chance.choice(level).number = chance.choice((1, 2, 3, 4, 5, 6, 7, 8, 2**28))


def _revalue(level: list[Node], chance: Random) -> None:
    node = chance.choice(level)
    if node.kind == VARINT:
        node.value = chance.choice(ODD_NUMBERS)
    elif node.kind == BYTES:
        node.value = chance.choice(ODD_BYTES)


def _add(level: list[Node], chance: Random) -> None:
    number = chance.randint(1, 8)
    if chance.random() < 0.5:
        level.append(Node(number, VARINT, chance.choice(ODD_NUMBERS)))
    else:
        level.append(Node(number, BYTES, chance.choice(ODD_BYTES)))


def _lengthen(level: list[Node], chance: Random) -> None:
    node = chance.choice(level)
    if isinstance(node.value, bytes) and node.kind == BYTES:
        node.value = node.value + bytes([chance.randrange(256)]) * chance.choice((1, 4, 200))


_CHANGES: tuple[Callable[[list[Node], Random], None], ...] = (
    _drop,
    _repeat,
    _swap,
    _renumber,
    _revalue,
    _revalue,
    _add,
    _lengthen,
)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; -1 when it has no end."""
    value = 0
    for shift, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & 2**64 - 1, at + shift + 1
    return 0, -1


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
