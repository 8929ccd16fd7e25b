"""Execution providers: where ONNX Runtime computes.

People write `CUDA`; the vendor says `CUDAExecutionProvider` and wants a limit in bytes. The CPU
always comes last, for the operators that a device lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferflow.errors import InvalidInput
from inferflow.serving.runtime.port import LoadOptions

_SUFFIX = "ExecutionProvider"
_CPU = f"CPU{_SUFFIX}"
_WITH_ARENA = frozenset({f"CUDA{_SUFFIX}", f"ROCM{_SUFFIX}"})
"""Providers that keep an arena on a numbered device, and take a limit for it."""

Provider = tuple[str, dict[str, str]]


def provider_list(options: LoadOptions, available: Sequence[str]) -> list[Provider]:
    """What a session is to be opened with. Raises InvalidInput for one that is not here."""
    chosen: list[Provider] = []
    for name in options.providers:
        full = name if name.endswith(_SUFFIX) else f"{name}{_SUFFIX}"
        if full not in available:
            here = ", ".join(each.removesuffix(_SUFFIX) for each in available)
            raise InvalidInput(f"no execution provider {name!r} here; there are {here}")
        if full != _CPU:
            chosen.append((full, _settings_of(full, options)))
    return [*chosen, (_CPU, {})]


def _settings_of(provider: str, options: LoadOptions) -> dict[str, str]:
    if provider not in _WITH_ARENA:
        return {}
    settings = {"device_id": str(options.device), "arena_extend_strategy": "kSameAsRequested"}
    if options.device_memory_mb is not None:
        settings["gpu_mem_limit"] = str(options.device_memory_mb * 1024 * 1024)
    return settings
