"""What a model of a fleet takes and gives, as its registry says: no worker needs to be up.

Told on in the form a server of the Open Inference Protocol would say it.
"""

from __future__ import annotations

from typing import Any

from inferflow._proto.pool import message_class
from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.oip.metadata import Known, read_signature
from inferflow.client.sdk.line import wanted_of
from inferflow.client.sdk.managers import listed
from inferflow.client.sdk.sessions import Wanted
from inferflow.errors import DeadlinePassed, InferflowError, NotFound, Unreachable
from inferflow.plan.catalog import Endpoint, UnknownSignature
from inferflow.rpc.tls_channel import ChannelTls

PRODUCTION = "production"

_Metadata = message_class("inference.ModelMetadataResponse")


def ask_registry(
    endpoint: Endpoint, key: str, *, timeout_s: float, tls: ChannelTls | None = None
) -> Known:
    """Ask a manager for a model's schema, for as long as `timeout_s` at most."""
    calls = ManagerCalls(listed(endpoint.managers), key, timeout_s=timeout_s, tls=tls)
    try:
        asked = declared("GetModelRequest")(name=endpoint.model)
        model = calls.ask("Registry/GetModel", asked, "Model", repeatable=True)
    except NotFound:
        return None
    except (Unreachable, DeadlinePassed):
        return UnknownSignature(f"{endpoint.address} does not answer", is_silent=True)
    except InferflowError as refused:
        return UnknownSignature(f"{endpoint.address}: {refused}")
    finally:
        calls.close()
    version = chosen_version(model, wanted_of(endpoint))
    return None if version is None else read_signature(_told(model, version), endpoint)


def chosen_version(model: Any, wanted: Wanted) -> Any | None:
    """The version that stands for what is wanted: of a split of traffic the largest share, of a
    stage the highest number."""
    if wanted.version:
        return next((v for v in model.versions if v.version == wanted.version), None)
    stage = wanted.stage or PRODUCTION
    found = [version for version in model.versions if version.stage == stage]
    if stage == PRODUCTION and model.traffic:
        found = [version for version in model.versions if version.version in model.traffic]
        return max(found, key=lambda v: (model.traffic[v.version], int(v.version)), default=None)
    return max(found, key=lambda v: int(v.version), default=None)


def _told(model: Any, version: Any) -> bytes:
    """The platform tells one upload from another with the same tensors."""
    told = _Metadata(
        name=model.name, versions=[version.version], platform=f"inferflow:{version.digest}"
    )
    for given, tensors in ((version.inputs, told.inputs), (version.outputs, told.outputs)):
        for tensor in given:
            tensors.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
    body: bytes = told.SerializeToString()
    return body
