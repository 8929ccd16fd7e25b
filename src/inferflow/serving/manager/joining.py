"""What a worker says when it joins, checked before anybody relies on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inferflow.errors import InvalidInput
from inferflow.serving.manager.names import check_text
from inferflow.serving.manager.reports import DeviceReport

MOST_LABELS = 32
MOST_DEVICES = 64
MOST_SLOTS = 100_000
LONGEST_LABEL = 128
LONGEST_VERSION = 64

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Joining:
    worker_id: str
    """Empty asks the manager for one."""
    address: str
    """`host:port` where clients reach it."""
    devices: tuple[DeviceReport, ...] = ()
    slots: int = 1
    memory_budget_bytes: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    software_version: str = ""


def check_joining(joining: Joining) -> None:
    """Raises InvalidInput, naming the field and what it may be."""
    if joining.worker_id and not _ID.fullmatch(joining.worker_id):
        raise InvalidInput(
            f"worker_id: {joining.worker_id[:60]!r}; letters, digits, '.', '_' and '-', at most 128"
        )
    found = _ADDRESS.fullmatch(joining.address) if len(joining.address) <= 255 else None
    if found is None or not 0 < int(found[2]) < 65536:
        raise InvalidInput(f"address: {joining.address[:60]!r} is not host:port")
    if not 0 < joining.slots <= MOST_SLOTS:
        raise InvalidInput(f"slots: {joining.slots}; from 1 to {MOST_SLOTS}")
    if len(joining.devices) > MOST_DEVICES or len(joining.labels) > MOST_LABELS:
        raise InvalidInput(f"at most {MOST_DEVICES} devices and {MOST_LABELS} labels")
    for name, value in joining.labels.items():
        check_text("labels", name, longest=LONGEST_LABEL)
        check_text(f"labels[{name!r}]", value, longest=LONGEST_LABEL)
    for device in joining.devices:
        check_text("devices", device.name + device.kind, longest=LONGEST_LABEL)
    check_text("software_version", joining.software_version, longest=LONGEST_VERSION)
