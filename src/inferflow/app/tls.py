"""The settings' certificates at work: for servers of this process, and for the calls it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inferflow.app.tls_settings import TlsSettings

if TYPE_CHECKING:
    from inferflow.rpc.tls import TlsFiles
    from inferflow.rpc.tls_channel import ChannelTls
    from inferflow.rpc.tls_http import HttpsContexts
    from inferflow.rpc.tls_server import ServerTls


def server_tls(tls: TlsSettings) -> ServerTls | None:
    """None without a certificate. Raises InvalidInput for files that cannot be used."""
    from inferflow.errors import InvalidInput
    from inferflow.rpc.tls_server import ServerTls

    if not tls.cert and not tls.key:
        if tls.client_auth != "off":
            raise InvalidInput("tls.client_auth: without tls.cert and tls.key there is no TLS")
        return None
    return ServerTls(
        _files(tls), client_auth=tls.client_auth, http_client_auth=tls.http_client_auth
    )


def channel_tls(tls: TlsSettings, *, plain_text: bool | None) -> ChannelTls | None:
    """How servers are called; None in plain text. `plain_text` None: over TLS where the settings
    say whom to trust."""
    from inferflow.rpc.tls_channel import ChannelTls

    if plain_text or (plain_text is None and not tls.ca):
        return None
    return ChannelTls(_files(tls), tls.server_name)


def https_contexts(tls: TlsSettings) -> HttpsContexts | None:
    """How pages of other servers are fetched; None where the settings do not say whom to trust."""
    from inferflow.rpc.tls_http import HttpsContexts

    found = channel_tls(tls, plain_text=None)
    return None if found is None else HttpsContexts(found)


def _files(tls: TlsSettings) -> TlsFiles:
    from inferflow.rpc.tls import TlsFiles

    return TlsFiles(tls.cert, tls.key, tls.ca)
