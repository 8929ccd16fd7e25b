"""Scores as a Compute answer, in the form they were asked for; or why there are none."""

from __future__ import annotations

from typing import cast

from inferflow._proto.numbers import number_rows, text_rows
from inferflow._proto.pool import message_class
from inferflow._proto.writing import field, fields, tag
from inferflow.api.numerix import number_text
from inferflow.api.numerix.asking import Asked
from inferflow.compute import Evaluation

_Response = message_class("numerix.NumerixResponseProto")
_SCORE_DATA, _SCHEMA, _ROWS, _BLANK_REASON = tag(1), tag(1), tag(2), tag(100)


def answer(asked: Asked, scores: Evaluation) -> bytes:
    """One row per row asked. A row that has no answer has a score of no bytes."""
    blank = scores.invalid
    names = fields(_SCHEMA, (asked.names[0].encode(), b"score"))
    if asked.is_text:
        texts = number_text.written(scores.values, asked.precision)
        if blank is not None:
            texts = ["" if is_blank else text for text, is_blank in zip(texts, blank, strict=True)]
        rows = text_rows(_ROWS, cast("list[str]", asked.ids), texts)
    else:
        ids = cast("list[bytes]", asked.ids)
        rows = number_rows(_ROWS, ids, scores.values.reshape(-1, 1), blank)
    why = b"" if blank is None else field(_BLANK_REASON, scores.reason.encode())
    return field(_SCORE_DATA, b"".join((*names, rows, why)))


def refusal(text: str) -> bytes:
    body: bytes = _Response(error={"message": text}).SerializeToString()
    return body
