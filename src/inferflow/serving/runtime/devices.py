"""Which accelerators this machine has, and how full they are.

Asked through NVML, the library that comes with NVIDIA's driver. A machine without it has no
devices; that is an answer, not a failure, and everything runs on the CPU.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator at one moment."""

    index: int
    name: str
    uuid: str
    memory_bytes: int
    used_bytes: int
    busy_percent: float


class Devices:
    """The accelerators of this machine. Close it when done."""

    def __init__(self) -> None:
        self._nvml: Any = _open_nvml()

    def look(self) -> tuple[Device, ...]:
        """Every device as it is now; one that cannot be asked is left out."""
        if self._nvml is None:
            return ()
        found = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            with contextlib.suppress(self._nvml.NVMLError):
                found.append(self._device(index))
        return tuple(found)

    def close(self) -> None:
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None

    def _device(self, index: int) -> Device:
        nvml = self._nvml
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        return Device(
            index,
            _text(nvml.nvmlDeviceGetName(handle)),
            _text(nvml.nvmlDeviceGetUUID(handle)),
            int(memory.total),
            int(memory.used),
            float(nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        )


def _open_nvml() -> Any:
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
