"""A compute service's expressions in etcd, one key each: `/config/<app>/expression-config/<id>`.

The value is `{"expression": "a b +"}`. What was seen last stays good while etcd is away; before
it has answered for the first time, nothing can be told.
"""

from __future__ import annotations

from inferflow.app.expression_files import Written
from inferflow.app.platform_settings import EtcdSettings
from inferflow.errors import ConfigStoreFailed, InvalidInput
from inferflow.plan.document import parse_document
from inferflow.rpc.etcd import EtcdClient, EtcdOptions, Mirror, prefix_end


class EtcdExpressions:
    """Follows etcd until closed."""

    def __init__(self, options: EtcdOptions, app: str) -> None:
        self._prefix = f"/config/{app}/expression-config/".encode()
        self.name = f"{self._prefix.decode()} in etcd at {options.addresses}"
        self._client = EtcdClient(options)
        self._mirror = Mirror(self._client, self._prefix, prefix_end(self._prefix))
        self._mirror.wait(options.dial_timeout_s)

    def read(self) -> Written:
        seen = self._mirror.seen()
        if seen is None:
            raise ConfigStoreFailed(f"{self.name}: {self._mirror.why_away or 'no answer yet'}")
        found = Written()
        for key, entry in seen.entries.items():
            _add(found, key.rpartition(b"/")[2], entry.value)
        return found

    def close(self) -> None:
        self._mirror.close()
        self._client.close()


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


def open_etcd_expressions(etcd: EtcdSettings, app: str) -> EtcdExpressions:
    options = EtcdOptions(
        etcd.endpoints,
        username=etcd.username,
        password=etcd.password.get_secret_value(),
        dial_timeout_s=etcd.dial_timeout / 1000,
    )
    return EtcdExpressions(options, app)
