"""The messages that have rows, with their rows left as bytes.

A sub-message and a bytes field look the same on the wire. Reading `targets` as bytes gives one
`bytes` per target at the speed of C, where touching as many message objects from Python costs
several times more; who needs the inside of a row reads it in bulk, or with its own class.
"""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from inferflow._proto.pool import declared_files, message_class, pool_of

_ROWS = frozenset(
    {
        "Target",
        "TargetScore",
        "PairScore",
        "SlateScore",
        "numerix.Score",
        "retrieve.Keys",
        "retrieve.Row",
        # Not rows, but the same in every answer to a query, and looked at once.
        "retrieve.FeatureSchema",
        "retrieve.Presence",
    }
)


def _with_rows_as_bytes() -> FileDescriptorSet:
    changed = FileDescriptorSet()
    changed.CopyFrom(declared_files())
    for file in changed.file:
        for message in file.message_type:
            for field in message.field:
                if field.type_name.removeprefix(".") in _ROWS:
                    field.type = FieldDescriptorProto.TYPE_BYTES
                    field.ClearField("type_name")
    return changed


_POOL = pool_of(_with_rows_as_bytes())

PointWiseRequest = message_class("PointWiseRequest", _POOL)
PairWiseRequest = message_class("PairWiseRequest", _POOL)
SlateWiseRequest = message_class("SlateWiseRequest", _POOL)
PointWiseResponse = message_class("PointWiseResponse", _POOL)
PairWiseResponse = message_class("PairWiseResponse", _POOL)
SlateWiseResponse = message_class("SlateWiseResponse", _POOL)
NumerixRequest = message_class("numerix.NumerixRequestProto", _POOL)
NumerixResponse = message_class("numerix.NumerixResponseProto", _POOL)
RetrieveQuery = message_class("retrieve.Query", _POOL)
RetrieveResult = message_class("retrieve.Result", _POOL)
