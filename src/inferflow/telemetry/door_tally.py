"""Shows of a role's door whom it turned away, and how long its certificates last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inferflow.telemetry import door_table
from inferflow.telemetry.prometheus import numbers

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


@dataclass(frozen=True, slots=True)
class DoorTally:
    """To be shown on the page of the role; read for each rendering."""

    role: str
    refused: Callable[[], Mapping[str, int]]
    """Calls by the reason they were turned away for."""
    seconds_left: Callable[[], Mapping[str, float]]
    """By kind of file; nothing where there are no certificates."""

    def collect(self) -> Iterator[Family]:
        """Called by the library."""
        yield numbers(door_table.REFUSED, self._series(self.refused()))
        yield numbers(door_table.CERTIFICATE_EXPIRY, self._series(self.seconds_left()))

    def _series(self, values: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
        return [((self.role, what), value) for what, value in values.items()]
