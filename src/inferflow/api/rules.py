"""What a caller must be good for, call by call, for every service there is. A call that is not
here is refused to everybody.

Which models a key is for is checked by the services themselves, where the model is known.
"""

from __future__ import annotations

from inferflow.access import Permission
from inferflow.errors import EngineFault

Needs = frozenset[Permission]

_ANYBODY: Needs = frozenset()
_ANY = frozenset(Permission)
_INFERENCE = frozenset({Permission.INFERENCE})
_VIEW = frozenset({Permission.VIEW})
_CONFIGURE = frozenset({Permission.CONFIGURE})
_UPLOAD = frozenset({Permission.UPLOAD})
_ADMIN = frozenset({Permission.ADMIN})
_WORKER = frozenset({Permission.WORKER})


def _rows(service: str, rules: dict[str, Needs]) -> dict[str, Needs]:
    return {f"/{service}/{method}": needs for method, needs in rules.items()}


RULES: dict[str, Needs] = {
    # --- scoring
    **_rows("Inferflow", {"RetrieveModelScore": _INFERENCE}),
    **_rows(
        "Predict",
        {
            "InferPointWise": _INFERENCE,
            "InferPairWise": _INFERENCE,
            "InferSlateWise": _INFERENCE,
        },
    ),
    **_rows(
        "inferflow.v1.Operate",
        {"GetRecording": _VIEW, "ListRecordings": _VIEW, "ListConfigs": _VIEW},
    ),
    # --- features and compute
    **_rows(
        "retrieve.FeatureService",
        {
            "RetrieveFeatures": _INFERENCE | _VIEW,
            "RetrieveDecodedResult": _INFERENCE | _VIEW,
        },
    ),
    **_rows("persist.FeatureService", {"PersistFeatures": _CONFIGURE}),
    **_rows("numerix.Numerix", {"Compute": _INFERENCE}),
    # --- models
    **_rows(
        "inference.GRPCInferenceService",
        {
            "ServerLive": _ANYBODY,
            "ServerReady": _ANYBODY,
            "ServerMetadata": _ANY,
            "ModelReady": _INFERENCE | _VIEW | _ADMIN,
            "ModelMetadata": _INFERENCE | _VIEW | _ADMIN,
            "ModelConfig": _INFERENCE | _VIEW | _ADMIN,
            "ModelStatistics": _INFERENCE | _VIEW | _ADMIN,
            "ModelInfer": _INFERENCE,
            "ModelStreamInfer": _INFERENCE,
            "RepositoryIndex": _ADMIN,
            "RepositoryModelLoad": _ADMIN,
            "RepositoryModelUnload": _ADMIN,
        },
    ),
    # --- a fleet
    **_rows("inferflow.serving.v1.Discovery", {"Discover": _INFERENCE, "Refresh": _INFERENCE}),
    **_rows(
        "inferflow.serving.v1.Fleet",
        {"Register": _WORKER, "Heartbeat": _WORKER, "Drain": _WORKER, "FetchModel": _WORKER},
    ),
    **_rows(
        "inferflow.serving.v1.Registry",
        {
            "BeginUpload": _UPLOAD,
            "GetUpload": _UPLOAD,
            "UploadChunks": _UPLOAD,
            "FinishUpload": _UPLOAD,
            "AbortUpload": _UPLOAD,
            "ListModels": _ANY,
            "GetModel": _ANY,
            "Promote": _ADMIN,
            "SetTraffic": _ADMIN,
            "DeleteVersion": _ADMIN,
            "ListWorkers": _ADMIN,
            "DrainWorker": _ADMIN,
            "CreateKey": _ADMIN,
            "ListKeys": _ADMIN,
            "RevokeKey": _ADMIN,
            "CheckKey": _WORKER,
            "ListAudit": _ADMIN,
        },
    ),
    # --- for probes, and for people who look around on their own machine
    **_rows("grpc.health.v1.Health", {"Check": _ANYBODY, "List": _ANYBODY, "Watch": _ANYBODY}),
    **_rows("grpc.reflection.v1alpha.ServerReflection", {"ServerReflectionInfo": _ANYBODY}),
}
"""Any one of the permissions is enough; where there are none, nobody is asked who it is."""


def rule_of(path: str) -> Needs:
    """Raises EngineFault for a call that nobody has thought about."""
    try:
        return RULES[path]
    except KeyError:
        raise EngineFault(f"{path} has no rule who may call it") from None


_CHANGING = _CONFIGURE | _UPLOAD | _ADMIN
_LOOKING = ("Get", "List", "RepositoryIndex")


def is_change(path: str) -> bool:
    """Whether a call changes what others see, so that it is worth a line who made it."""
    needs = RULES.get(path, _ANYBODY)
    is_looking = path.rpartition("/")[2].startswith(_LOOKING)
    return bool(needs) and needs <= _CHANGING and not is_looking
