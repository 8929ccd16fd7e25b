"""A project's features, wherever they are read: from its store, or from a service.

What a service needs is loaded when settings name one, and its connection is shared by all plans.
The store is then a stand-in without rows, which only says what features there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferflow.app.remote_settings import OnfsSettings
from inferflow.app.settings import Settings
from inferflow.engine.ports import FeatureReader
from inferflow.errors import InvalidInput, MissingExtra
from inferflow.featurestore import FeatureStore

if TYPE_CHECKING:
    from inferflow.client.features.reader import FeatureLine


class ProjectFeatures:
    """Raises MissingExtra where a service is named without gRPC installed. Close it when done."""

    def __init__(self, settings: Settings) -> None:
        self._line: FeatureLine | None = None
        if settings.onfs.address:
            self._line = _open_line(settings.onfs)

    def over(self, store: FeatureStore) -> FeatureReader:
        """What reads features of the store's schema."""
        if self._line is None:
            return store
        from inferflow.client.features.reader import RemoteFeatures

        return RemoteFeatures(self._line, store.schema if store.schema.entities else None)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()


def _open_line(onfs: OnfsSettings) -> FeatureLine:
    try:
        from inferflow.client.features.reader import FeatureLine, FeatureOptions, caller_headers
        from inferflow.client.oip.line import LineOptions
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="reading features from another host") from missing
    if not onfs.plain_text:
        raise InvalidInput(
            "onfs.plain_text: a feature service is called without TLS, so far; "
            "set EXTERNAL_SERVICE_ONFS_FS_GRPC_PLAIN_TEXT=true if that is meant"
        )
    headers = caller_headers(onfs.caller_id, onfs.caller_token.get_secret_value())
    options = FeatureOptions(LineOptions(headers=headers), max_calls=onfs.max_calls)
    return FeatureLine(onfs.address, options)
