"""A compute service's expressions in etcd, one key each: `/config/<app>/expression-config/<id>`.

The value is `{"expression": "a b +"}`. What was seen last stays good while etcd is away; before
it has answered for the first time, nothing can be told.
"""

from __future__ import annotations

from inferflow.app.config_stores import open_etcd
from inferflow.app.expression_files import Written
from inferflow.app.settings import Settings
from inferflow.errors import ConfigStoreFailed, InvalidInput
from inferflow.plan.document import parse_document
from inferflow.rpc.etcd import EtcdClient, Listing, Mirror, prefix_end
from inferflow.rpc.etcd.mirror import RELIST_S


class EtcdExpressions:
    """Follows etcd until closed, and closes the client with it. Unless it is to `follow`, what is
    there first is all it ever sees."""

    def __init__(
        self, client: EtcdClient, app: str, *, follow: bool = True, relist_s: float = RELIST_S
    ) -> None:
        self.name = _name(client, app)
        self._client = client
        start = _prefix(app).encode()
        self._mirror = Mirror(client, start, prefix_end(start), follow=follow, relist_s=relist_s)
        self._mirror.wait(client.options.dial_timeout_s)

    def read(self) -> Written:
        seen = self._mirror.seen()
        if seen is None:
            raise ConfigStoreFailed(f"{self.name}: {self._mirror.why_away or 'no answer yet'}")
        return _written(seen)

    def close(self) -> None:
        self._mirror.close()
        self._client.close()


def read_expressions(client: EtcdClient, app: str) -> tuple[Written, str]:
    """What is there now, and what people call it. Raises what the client raises."""
    start = _prefix(app).encode()
    return _written(client.listing(start, prefix_end(start))), _name(client, app)


def expression_key(app: str, compute_id: str) -> bytes:
    """Where one expression is kept. Raises InvalidInput for an id that cannot be part of a key."""
    if "/" in compute_id:
        raise InvalidInput(f"{compute_id!r}: a compute id in etcd cannot have a slash in it")
    return f"{_prefix(app)}{compute_id}".encode()


def _prefix(app: str) -> str:
    return f"/config/{app}/expression-config/"


def _name(client: EtcdClient, app: str) -> str:
    return f"{_prefix(app)} in etcd at {client.options.addresses}"


def _written(listing: Listing) -> Written:
    found = Written()
    for key, entry in listing.entries.items():
        _add(found, key.rpartition(b"/")[2], entry.value)
    return found


def _add(found: Written, key: bytes, value: bytes) -> None:
    compute_id = key.decode("utf-8", "backslashreplace")
    try:
        found.sources[compute_id] = parse_document(
            value.decode("utf-8"), name=compute_id, is_json=True
        )
    except UnicodeDecodeError as broken:
        found.unreadable[compute_id] = f"not UTF-8: {broken}"
    except InvalidInput as broken:
        found.unreadable[compute_id] = str(broken)


def open_etcd_expressions(settings: Settings) -> EtcdExpressions:
    return EtcdExpressions(
        open_etcd(settings),
        settings.telemetry.app_name,
        follow=settings.etcd.watcher_enabled,
        relist_s=settings.etcd.relist / 1000,
    )
