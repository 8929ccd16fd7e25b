"""Which list of a persist message holds values of a type, for those who write and who read it."""

from __future__ import annotations

from inferflow.dtypes import FP64, DType

NUMBER_LISTS = (
    "fp32_values",
    "fp64_values",
    "int32_values",
    "int64_values",
    "uint32_values",
    "uint64_values",
)
LISTS = (*NUMBER_LISTS, "string_values", "bool_values")


def list_of(dtype: DType) -> str:
    """Where values of a type are sent."""
    element = dtype.element
    if element.is_text:
        return "string_values"
    if element.is_bool:
        return "bool_values"
    if element.is_float:
        return "fp64_values" if element is FP64 else "fp32_values"
    kind = "uint" if element.numpy.kind == "u" else "int"
    return f"{kind}{'64' if element.size == 8 else '32'}_values"
