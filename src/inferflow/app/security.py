"""How one role is guarded: who may call it, and how its connections are kept private.

Callers are asked who they are as soon as there is anything to know them by. Where there is nothing,
only this machine can call, unless the settings say `auth = "off"`.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import grpc

from inferflow.access import (
    CallerBook,
    Gate,
    KeyCard,
    KeySource,
    ModelPatterns,
    NamedCaller,
    OpenGate,
    token_digest,
)
from inferflow.access.permissions import permissions_of
from inferflow.api.guard import guarded
from inferflow.app.auth_settings import Grant, TokenGrant
from inferflow.app.key_file import FileKeys
from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls, server_tls
from inferflow.errors import InvalidInput
from inferflow.rpc.server import is_loopback
from inferflow.rpc.tls_server import ServerTls
from inferflow.telemetry.door_tally import DoorTally


@dataclass(frozen=True, slots=True)
class Security:
    """Nothing at all, unless it is made by `open_security`."""

    gate: Gate | OpenGate = field(default_factory=OpenGate)
    tls: ServerTls | None = None

    def guarded(
        self, handlers: Sequence[grpc.GenericRpcHandler], *, counts: bool = True
    ) -> list[grpc.GenericRpcHandler]:
        """Handlers that only whoever may call reaches."""
        return guarded(handlers, self.gate, counts=counts)

    def http_context(self) -> ssl.SSLContext | None:
        return None if self.tls is None else self.tls.http_context()

    def check_bind(self, bind: str, auth: Literal["on", "off"]) -> None:
        """Raises InvalidInput when others could call who are not meant to."""
        if auth != "off" and self.gate.is_open and not is_loopback(bind):
            raise InvalidInput(
                f"bind: {bind} can be reached from other machines, and there is nothing to know"
                " callers by; name a file of API keys with INFERFLOW_KEYS_FILE (`inferflow keys"
                " create NAME --may inference --file FILE` makes one), or set INFERFLOW_AUTH=off"
                " if everybody is meant"
            )

    def shown(self, role: str) -> DoorTally:
        """For the metrics page of the role that is guarded."""

        def seconds_left() -> dict[str, float]:
            return {} if self.tls is None else self.tls.watch.seconds_left()

        return DoorTally(role, self.gate.refusals.counts, seconds_left)

    def begin(self) -> None:
        """Look after the certificates, until `close`."""
        if self.tls is not None:
            self.tls.watch.begin()

    async def close(self) -> None:
        await self.gate.close()
        if self.tls is not None:
            await self.tls.watch.end()


PLAIN = Security()
"""For this machine only."""


def open_security(
    settings: Settings, *, auth: Literal["on", "off"], callers: CallerBook | None = None
) -> Security:
    """`callers` are those of the settings unless given. Raises InvalidInput."""
    return Security(open_gate(settings, auth=auth, callers=callers), server_tls(settings.tls))


class Bound(Protocol):
    """What the settings of every role say."""

    @property
    def bind(self) -> str: ...
    @property
    def auth(self) -> Literal["on", "off"]: ...


def check_security(settings: Settings, table: Bound) -> None:
    """Before anything is opened, for that may take long. Raises InvalidInput when the role of a
    table could be called by others than are meant to, and for keys and certificates that cannot be
    used."""
    open_security(settings, auth=table.auth).check_bind(table.bind, table.auth)


def check_gateway(settings: Settings) -> None:
    """The same for a gateway, which cannot know anybody by certificate: what answers HTTP for it
    verifies certificates, and does not say whose they are."""
    table, auth = settings.gateway, settings.auth
    check_security(settings, table)
    if table.auth != "off" and auth.has_certificates_alone:
        raise InvalidInput(
            "auth.certificates: a gateway cannot tell callers by their certificates, and there is"
            " nothing else to know them by; name a file of API keys with INFERFLOW_KEYS_FILE, or"
            " set gateway.enabled to false where there is to be none"
        )


def open_gate(
    settings: Settings, *, auth: Literal["on", "off"], callers: CallerBook | None = None
) -> Gate | OpenGate:
    """Open where `auth` is off, and where there is nothing to know callers by: a book of `callers`
    is something, even while it is empty."""
    table = settings.auth
    if auth == "off" or (table.is_empty and callers is None):
        return OpenGate()
    callers = CallerBook(named_callers(table.callers)) if callers is None else callers
    known = certificate_cards(settings)
    return Gate(_sources(settings), time.monotonic, callers=callers, certificates=known)


def certificate_cards(settings: Settings) -> dict[str, KeyCard]:
    """Callers that are known by a name in their certificate. Raises InvalidInput where nobody is
    asked for one."""
    listed = settings.auth.certificates
    if listed and settings.tls.client_auth != "required":
        raise InvalidInput(
            "auth.certificates: nobody is asked for a certificate; set tls.client_auth to required"
        )
    return {name: card_of(name, "certificate", grant) for name, grant in listed.items()}


def named_callers(tables: Mapping[str, TokenGrant]) -> dict[str, NamedCaller]:
    """Callers as a gate knows them."""
    return {name: _named(name, table) for name, table in tables.items()}


def card_of(name: str, kind: str, grant: Grant) -> KeyCard:
    return KeyCard(
        f"{kind}:{name}",
        name,
        permissions_of(grant.permissions),
        ModelPatterns(grant.models),
        created_ms=0,
        rate=grant.rate,
    )


def _named(name: str, table: TokenGrant) -> NamedCaller:
    tokens = [] if table.token is None else [token_digest(table.token.get_secret_value())]
    digests = (*tokens, *map(bytes.fromhex, table.sha256))
    return NamedCaller(card_of(name, "caller", table), digests)


def _sources(settings: Settings) -> list[KeySource]:
    sources: list[KeySource] = []
    if settings.auth.keys_file:
        sources.append(FileKeys(Path(settings.auth.keys_file)))
    if settings.auth.manager:
        sources.append(_manager_keys(settings))
    return sources


def _manager_keys(settings: Settings) -> KeySource:
    from inferflow.client.manager.key_check import ManagerKeys

    fleet = settings.fleet
    if not fleet.manager:
        raise InvalidInput("auth.manager: no manager is named; set INFERFLOW_MANAGER=host:port")
    return ManagerKeys(
        fleet.manager,
        fleet.api_key.get_secret_value(),
        tls=channel_tls(settings.tls, plain_text=fleet.plain_text),
    )
