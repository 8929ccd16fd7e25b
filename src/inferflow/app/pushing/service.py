"""What `[service]` of a project says for all configs, brought to etcd.

Only fields that are written there: those that are not stay as etcd has them. A field that has a
key of its own in etcd is changed in that key, which counts over the object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from inferflow.app.config_stores import open_etcd
from inferflow.app.pushing.outcome import Outcome
from inferflow.app.settings import Settings
from inferflow.errors import ConfigStoreBusy, InvalidInput
from inferflow.plan.schema import ServiceDoc
from inferflow.rpc.etcd import Listing, Put, Same, prefix_end

if TYPE_CHECKING:
    from inferflow.configstore.etcd import Layout

NAME = "[service]"


def push_service(settings: Settings, *, dry_run: bool) -> Iterator[Outcome]:
    """Nothing at all when the project says nothing. Raises what etcd's client raises."""
    from inferflow.configstore.etcd import Layout
    from inferflow.configstore.etcd.service import service_fields

    written = settings.service.model_dump(mode="json", exclude_unset=True)
    if not written:
        return
    layout = Layout(settings.telemetry.app_name)
    start = layout.configs.encode()
    with closing(open_etcd(settings)) as etcd:
        listing = etcd.listing(start, prefix_end(start))
        there = service_fields(listing, layout, ServiceDoc.model_fields)
        new = {name: value for name, value in written.items() if there.get(name) != value}
        if not new:
            yield Outcome("configs", NAME, "unchanged", "there already")
            return
        if dry_run:
            yield Outcome("configs", NAME, "differs", ", ".join(new))
            return
        puts = list(_puts(listing, layout, new))
        seen = [Same(put.key, _revision(listing, put.key)) for put in puts]
        if not etcd.change(seen, puts):
            raise ConfigStoreBusy(f"{NAME}: somebody else changed it meanwhile; push again")
        yield Outcome("configs", NAME, "pushed", ", ".join(new))


def _puts(listing: Listing, layout: Layout, new: dict[str, Any]) -> Iterator[Put]:
    from inferflow.configstore.etcd.layout import compared

    whole = layout.service
    single: dict[str, bytes] = {}
    for key in listing.entries:
        field = layout.service_field(key.decode(errors="backslashreplace"))
        if field == "":
            whole = key
        elif field is not None:
            single[compared(field)] = key
    left = dict(new)
    for name in new:
        if compared(name) in single:
            yield Put(single[compared(name)], json.dumps(left.pop(name)).encode())
    if left:
        names = {compared(name) for name in left}
        before = _object(listing, whole)
        kept = {name: value for name, value in before.items() if compared(name) not in names}
        yield Put(whole, json.dumps(kept | left).encode())


def _object(listing: Listing, key: bytes) -> dict[str, Any]:
    entry = listing.entries.get(key)
    found = json.loads(entry.value) if entry is not None and entry.value.strip() else {}
    if not isinstance(found, dict):
        raise InvalidInput(f"{key.decode()}: an object is wanted")
    return found


def _revision(listing: Listing, key: bytes) -> int:
    entry = listing.entries.get(key)
    return 0 if entry is None else entry.revision
