"""The private pool, and message classes made from it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass


@cache
def declared_files() -> FileDescriptorSet:
    """What `proto/*.proto` declare."""
    return FileDescriptorSet.FromString(files(__package__).joinpath("wire.binpb").read_bytes())


def pool_of(declared: FileDescriptorSet) -> DescriptorPool:
    pool = DescriptorPool()
    for file in declared.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def private_pool() -> DescriptorPool:
    """The pool all message classes of this package come from."""
    return pool_of(declared_files())


def message_class(name: str, pool: DescriptorPool | None = None) -> Any:
    """The class of one message. Its fields are known to protobuf only, hence Any."""
    return GetMessageClass((pool or private_pool()).FindMessageTypeByName(name))
