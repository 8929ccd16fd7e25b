"""What administrators ask of a manager: models, workers, keys, and who changed what.

Answers are plain values, as the manager's messages have them (`proto/inferflow/serving/v1`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.manager.plain import plain
from inferflow.client.manager.uploading import Progress, UploadFiles, upload
from inferflow.rpc.tls_channel import ChannelTls

Facts = dict[str, Any]


class FleetAdmin:
    """Close it, or use it in a `with` block."""

    def __init__(
        self, managers: Sequence[str], key: str = "", *, tls: ChannelTls | None = None
    ) -> None:
        self.calls = ManagerCalls(managers, key, tls=tls)

    # --- models -----------------------------------------------------------------------------

    def models(self) -> list[Facts]:
        found = self._asked("ListModels", "ListModelsRequest", "ListModelsResponse")
        return list(found["models"])

    def model(self, name: str) -> Facts:
        return self._asked("GetModel", "GetModelRequest", "Model", name=name)

    def upload(
        self,
        model: str,
        files: UploadFiles,
        *,
        version: str = "",
        stage: str = "",
        options: Mapping[str, Any] | None = None,
        description: str = "",
        progress: Progress | None = None,
    ) -> Facts:
        """A new version of a model. An upload of the same files that was cut off goes on."""
        done = upload(
            self.calls,
            model,
            files,
            version=version,
            stage=stage,
            options=options or {},
            description=description,
            progress=progress,
        )
        return plain(done)

    def promote(
        self, model: str, version: str, stage: str, *, reason: str = "", expected: str = ""
    ) -> Facts:
        return self._changed(
            "Promote",
            "PromoteRequest",
            "ModelVersion",
            model=model,
            version=version,
            stage=stage,
            reason=reason,
            expected_stage=expected,
        )

    def set_traffic(self, model: str, traffic: Mapping[str, float]) -> Facts:
        """Percentages by version; none at all gives everything to production."""
        return self._changed(
            "SetTraffic", "SetTrafficRequest", "Model", model=model, traffic=traffic
        )

    def delete_version(self, model: str, version: str) -> None:
        self._changed(
            "DeleteVersion",
            "DeleteVersionRequest",
            "DeleteVersionResponse",
            model=model,
            version=version,
        )

    # --- workers ----------------------------------------------------------------------------

    def workers(self) -> list[Facts]:
        found = self._asked("ListWorkers", "ListWorkersRequest", "ListWorkersResponse")
        return list(found["workers"])

    def drain(self, worker_id: str) -> None:
        self._changed("DrainWorker", "DrainRequest", "DrainResponse", worker_id=worker_id)

    # --- keys and audit -----------------------------------------------------------------------

    def create_key(
        self,
        name: str,
        permissions: Sequence[str],
        *,
        models: Sequence[str] = (),
        expires_ms: int = 0,
        per_second: float = 0,
        burst: int = 0,
    ) -> Facts:
        """The key, and its secret, which is never to be had again."""
        return self._changed(
            "CreateKey",
            "CreateKeyRequest",
            "CreateKeyResponse",
            name=name,
            permissions=permissions,
            models=models,
            expires_ms=expires_ms,
            requests_per_second=per_second,
            burst=burst,
        )

    def keys(self) -> list[Facts]:
        return list(self._asked("ListKeys", "ListKeysRequest", "ListKeysResponse")["keys"])

    def revoke_key(self, key_id: str) -> Facts:
        return self._changed("RevokeKey", "RevokeKeyRequest", "ApiKey", key_id=key_id)

    def audit(self, limit: int = 0, *, model: str = "", by: str = "") -> list[Facts]:
        """Who changed what, newest first; about one model and made by one key, where named."""
        asked = {"limit": limit, "model": model, "by": by}
        found = self._asked("ListAudit", "ListAuditRequest", "ListAuditResponse", **asked)
        return list(found["entries"])

    def close(self) -> None:
        self.calls.close()

    def __enter__(self) -> FleetAdmin:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _asked(self, method: str, request: str, answer: str, **fields: Any) -> Facts:
        asked = declared(request)(**fields)
        return plain(self.calls.ask(f"Registry/{method}", asked, answer, repeatable=True))

    def _changed(self, method: str, request: str, answer: str, **fields: Any) -> Facts:
        return plain(self.calls.ask(f"Registry/{method}", declared(request)(**fields), answer))
