"""A project's features, wherever they are read: from its store, or from a service.

What a service needs is loaded when settings name one, and its connection is shared by all plans.
The store is then a stand-in without rows, which only says what features there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls
from inferflow.engine.ports import FeatureReader
from inferflow.errors import MissingExtra
from inferflow.featurestore import FeatureStore

if TYPE_CHECKING:
    from inferflow.client.features.reader import FeatureLine


class ProjectFeatures:
    """Raises MissingExtra where a service is named without gRPC installed. Close it when done."""

    def __init__(self, settings: Settings) -> None:
        self._line: FeatureLine | None = None
        if settings.onfs.address:
            self._line = open_feature_line(settings)

    def over(self, store: FeatureStore) -> FeatureReader:
        """What reads features of the store's schema."""
        if self._line is None:
            return store
        from inferflow.client.features.reader import RemoteFeatures

        return RemoteFeatures(self._line, store.schema if store.schema.entities else None)

    def close(self) -> None:
        if self._line is not None:
            self._line.close()


def open_feature_line(settings: Settings) -> FeatureLine:
    """Calls to the feature service that the settings name. The caller closes it."""
    try:
        from inferflow.client.features.reader import FeatureLine, FeatureOptions, caller_headers
        from inferflow.client.oip.line import LineOptions
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="reading features from another host") from missing
    onfs = settings.onfs
    tls = channel_tls(settings.tls, plain_text=onfs.plain_text)
    headers = caller_headers(onfs.caller_id, onfs.caller_token.get_secret_value())
    options = FeatureOptions(
        LineOptions(headers=headers, tls=tls, hedge=onfs.hedge), max_calls=onfs.max_calls
    )
    return FeatureLine(onfs.address, options)
