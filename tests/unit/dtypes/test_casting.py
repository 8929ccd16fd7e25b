"""The cast table, checked pair by pair against a version that does one value at a time."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.dtypes import (
    BOOL,
    DTYPES,
    FP8E4M3,
    FP8E5M2,
    FP16,
    FP32,
    FP64,
    INT8,
    INT32,
    INT64,
    STRING,
    UINT8,
    UINT64,
    DType,
    cast,
    format_text,
    is_plain,
)
from inferflow.errors import CastFailed, EngineFault

from ...robustness.scenario import StartScenario

SCALARS = [DTYPES[code] for code in range(1, 16)]
NUMERIC = [dtype for dtype in SCALARS if not dtype.is_text]


def bits(values: np.ndarray[Any, Any]) -> list[Any]:
    """Compares NaN codes and signed zeros too, which `==` does not."""
    return values.tolist() if values.dtype == object else [v.tobytes() for v in values.ravel()]


# --- the obvious version ----------------------------------------------------------------------


def exact(value: Any, source: DType) -> Any:
    """A value as Python's own: int, bool, float or str."""
    if source.is_text:
        return str(value)
    if source.is_bool:
        return bool(value)
    return float(value) if source.is_float else int(value)


def slow_round(value: int | float, target: DType) -> float:
    """Nearest in FP16, FP32 or FP64, ties to even, overflow to infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    mantissa, lowest, top = {
        FP16: (11, -24, 65520), FP32: (24, -149, 2**128 - 2**103), FP64: (53, -1074, None)
    }[target]  # fmt: skip
    number = Fraction(value)
    if top is not None and abs(number) >= top:
        return math.copysign(math.inf, value)
    if number == 0:
        return float(value)
    exponent = max(math.frexp(float(number))[1] - mantissa, lowest)
    step = Fraction(2) ** exponent
    return math.copysign(float(round(number / step) * step), value)


def decoded(code: int, target: DType) -> float:
    """A positive float8 code by the definition of the format, as if it had no specials."""
    mantissa_bits, bias = (3, 7) if target is FP8E4M3 else (2, 15)
    exponent, fraction = code >> mantissa_bits, code & (2**mantissa_bits - 1)
    if exponent == 0:
        return math.ldexp(fraction, 1 - bias - mantissa_bits)
    return math.ldexp(fraction + 2**mantissa_bits, exponent - bias - mantissa_bits)


FIRST_SPECIAL = {FP8E4M3: 0x7F, FP8E5M2: 0x7C}
"""The code after the largest finite one: NaN in E4M3, infinity in E5M2."""


def slow_float8(value: int | float, target: DType) -> Any:
    """The nearest code, ties to the even one, by trying them all."""
    single = slow_round(value, FP32)
    sign, size = (0x80 if math.copysign(1, single) < 0 else 0), abs(single)
    special = FIRST_SPECIAL[target]
    if math.isnan(single):
        code = 0x7F
    elif size >= decoded(special, target):
        code = special
    else:
        code = min(range(special + 1), key=lambda c: (abs(decoded(c, target) - size), c % 2))
    return np.uint8(sign | code).view(target.numpy)


def slow_cast(value: Any, source: DType, target: DType) -> Any:
    plain = exact(value, source)
    if source is target:
        return value
    if target.is_text:
        return format_text(np.array([value], source.numpy), source)[0]
    if source.is_text:
        return slow_parse(plain, target)
    if target.is_bool:
        return np.bool_(plain != 0)
    if target in (FP8E4M3, FP8E5M2):
        return slow_float8(plain, target)
    if target.is_float:
        return target.numpy.type(slow_round(plain, target))
    return slow_integer(plain, target)


def slow_integer(plain: bool | int | float, target: DType) -> Any:
    limits = np.iinfo(target.numpy)
    if isinstance(plain, float):
        if math.isnan(plain):
            return target.numpy.type(0)
        low, high = int(limits.min), int(limits.max)
        if math.isinf(plain):
            return target.numpy.type(low if plain < 0 else high)
        return target.numpy.type(min(max(math.trunc(plain), low), high))
    size = 8 * target.size
    wrapped = int(plain) % 2**size
    return target.numpy.type(wrapped - 2**size if wrapped > limits.max else wrapped)


def slow_parse(text: str, target: DType) -> Any:
    if target.is_bool:
        return np.bool_({"true": True, "false": False}[text.lower()])
    if target.is_float:
        return (
            slow_cast(np.float64(float(text)), FP64, target) if target is not FP64 else float(text)
        )
    return target.numpy.type(int(text))


# --- inputs -----------------------------------------------------------------------------------

ROUGH_FLOATS = [
    0.0, -0.0, 0.5, -0.9, 1.0, 2.5, 127.9, -128.9, 255.5, 448.0, 464.0, 465.0, 57344.0, 61439.0,
    61440.0, 65504.0, 65519.0, 65520.0, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63),
    2.0**64, 1e30, -1e30, 3.5e38, 1e300, 2.0**-9, 2.0**-10, 2.0**-16, 2.0**-17, 6e-8, 1e-45,
    math.inf, -math.inf, math.nan, -math.nan,
]  # fmt: skip


def arrays(source: DType) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    if source.is_bool:
        return st.lists(st.booleans(), max_size=8).map(lambda v: np.array(v, np.bool_))
    if source in (FP8E4M3, FP8E5M2):
        codes = st.lists(st.integers(0, 255), max_size=8)
        return codes.map(lambda v: np.array(v, np.uint8).view(source.numpy))
    if source.is_float:
        wanted = st.sampled_from(ROUGH_FLOATS) | st.floats(width=8 * source.size)
        return st.lists(wanted, max_size=8).map(lambda v: quietly(v, source))
    limits = np.iinfo(source.numpy)
    edges = [int(limits.min), int(limits.max), 0, 1]
    wanted = st.sampled_from(edges) | st.integers(int(limits.min), int(limits.max))
    return st.lists(wanted, max_size=8).map(lambda v: np.array(v, source.numpy))


def quietly(values: list[float], source: DType) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(source.numpy)


def readable_texts(target: DType) -> st.SearchStrategy[list[str]]:
    if target.is_bool:
        return st.lists(st.sampled_from(["true", "false", "True", "FALSE"]), max_size=8)
    if target.is_float:
        return st.lists(st.floats().map(repr) | st.integers().map(str), max_size=8)
    limits = np.iinfo(target.numpy)
    return st.lists(st.integers(int(limits.min), int(limits.max)).map(str), max_size=8)


@pytest.mark.parametrize("target", SCALARS, ids=repr)
@pytest.mark.parametrize("source", NUMERIC, ids=repr)
def test_every_numeric_cast_agrees_with_the_obvious_version_and_with_plain_assignment(
    source: DType, target: DType, scenario: StartScenario
) -> None:
    tried = scenario("F6", "random values from every type to every type")

    @settings(max_examples=30)
    @given(arrays(source))
    def check(values: np.ndarray[Any, Any]) -> None:
        got = cast(values, source, target)
        want = np.array([slow_cast(v, source, target) for v in values], target.numpy)
        assert got.dtype == target.numpy
        assert bits(got) == bits(want)
        if is_plain(source, target):
            assigned = np.empty(values.shape, target.numpy)
            assigned[...] = values
            assert bits(assigned) == bits(want)
        tried.shown("as the obvious version, bit for bit", "equal")

    check()


@pytest.mark.parametrize("target", NUMERIC, ids=repr)
def test_every_cast_from_text_agrees_with_the_obvious_version(target: DType) -> None:
    @settings(max_examples=30)
    @given(readable_texts(target))
    def check(texts: list[str]) -> None:
        got = cast(np.array(texts, object), STRING, target)
        want = np.array([slow_parse(text, target) for text in texts], target.numpy)
        assert bits(got) == bits(want)

    check()


def test_the_casts_that_tensor_assembly_needs_most_are_plain() -> None:
    assert is_plain(FP32, FP32)
    assert is_plain(FP16.vector, FP32.vector)
    assert is_plain(INT64, FP32)
    assert is_plain(BOOL, FP32)
    assert is_plain(INT64, INT8)
    assert is_plain(STRING, STRING)


def test_a_cast_with_an_overflow_or_a_rule_of_its_own_is_not_plain() -> None:
    assert not is_plain(FP64, FP32)
    assert not is_plain(INT64, FP16)
    assert not is_plain(FP32, INT64)
    assert not is_plain(FP32, FP8E5M2)
    assert not is_plain(INT64, STRING)
    assert not is_plain(STRING, FP64)
    assert not is_plain(FP32, FP32.vector)


def test_a_signalling_nan_from_the_wire_does_not_warn() -> None:
    signalling = np.array([0x7F800001], "<u4").view("<f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in SCALARS:
            cast(signalling, FP32, target)


# --- float8 -----------------------------------------------------------------------------------


@pytest.mark.scenario("F6")
@pytest.mark.parametrize("target", [FP8E4M3, FP8E5M2], ids=repr)
def test_all_256_float8_codes_mean_what_the_format_says_and_come_back(target: DType) -> None:
    codes = np.arange(256, dtype=np.uint8)
    wide = cast(codes.view(target.numpy), target, FP32)
    back = cast(wide, FP32, target).view(np.uint8)
    for code, value, again in zip(codes.tolist(), wide.tolist(), back.tolist(), strict=True):
        sign, size = (-1.0 if code & 0x80 else 1.0), code & 0x7F
        if size < FIRST_SPECIAL[target]:
            assert value == sign * decoded(size, target)
            assert again == code
        elif target is FP8E5M2 and size == 0x7C:
            assert value == sign * math.inf
            assert again == code
        else:
            assert math.isnan(value)
            assert again == code | 0x7F, "a NaN is written with all mantissa bits set"


E4M3_SAMPLES = [
    (1.0, 0x38), (-1.0, 0xB8), (0.1, 0x1D), (0.3, 0x2A), (3.14159, 0x45), (2**-9, 0x01),
    (2**-10, 0x00), (448.0, 0x7E), (464.0, 0x7E), (464.1, 0x7F), (-464.1, 0xFF), (-0.0, 0x80),
    (math.inf, 0x7F), (-math.inf, 0xFF), (math.nan, 0x7F), (-math.nan, 0xFF),
]  # fmt: skip
E5M2_SAMPLES = [
    (1.0, 0x3C), (0.1, 0x2E), (0.3, 0x35), (3.14159, 0x42), (2**-16, 0x01), (2**-17, 0x00),
    (57344.0, 0x7B), (61439.0, 0x7B), (61440.0, 0x7C), (-61440.0, 0xFC), (-0.0, 0x80),
    (math.inf, 0x7C), (math.nan, 0x7F), (-math.nan, 0xFF),
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "value", "code"),
    [(FP8E4M3, *sample) for sample in E4M3_SAMPLES] + [(FP8E5M2, *s) for s in E5M2_SAMPLES],
)
def test_known_float8_samples(target: DType, value: float, code: int) -> None:
    assert cast(np.array([value]), FP64, target).view(np.uint8)[0] == code


def test_an_unchanged_float8_keeps_its_own_nan_code() -> None:
    value = np.array([0x7D], np.uint8).view(ml_dtypes.float8_e5m2)
    assert cast(value, FP8E5M2, FP8E5M2).view(np.uint8)[0] == 0x7D


# --- the edges of the table ---------------------------------------------------------------------


def test_integers_keep_their_low_bits() -> None:
    assert cast(np.array([300, -1, 256]), INT64, UINT8).tolist() == [44, 255, 0]
    assert cast(np.array([2**63 + 1], np.uint64), UINT64, INT64).tolist() == [-(2**63) + 1]


@pytest.mark.scenario("F6")
def test_floats_stop_at_the_ends_of_the_integer_range() -> None:
    values = np.array([-1e30, -129.0, -128.9, 127.9, 128.0, math.inf, math.nan])
    assert cast(values, FP64, INT8).tolist() == [-128, -128, -128, 127, 127, 127, 0]
    assert cast(np.array([-0.9, -1.0, 2.0**64]), FP64, UINT64).tolist() == [0, 0, 2**64 - 1]


def test_integers_become_the_nearest_float() -> None:
    odd = np.array([2**24 + 1, 2**24 + 3, 2**63 - 1])
    assert cast(odd, INT64, FP32).tolist() == [2.0**24, 2.0**24 + 4, 2.0**63]


def test_text_that_is_no_number_names_its_row() -> None:
    with pytest.raises(CastFailed, match=r"'x1' does not read as FP32 \(at position 1\)") as caught:
        cast(np.array(["1.5", "x1", "y"], object), STRING, FP32)
    assert caught.value.position == 1


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1_000", "1.0", "0x10", "\u0661", "1e3", "--1", "9" * 5000]
)
def test_integers_are_read_strictly(text: str) -> None:
    with pytest.raises(CastFailed):
        cast(np.array([text], object), STRING, INT64)


@pytest.mark.parametrize("text", ["", " 1.0", "1.0\n", "1_0.0", "1,5", "\uff11", "0x1p3", "e5"])
def test_floats_are_read_strictly(text: str) -> None:
    with pytest.raises(CastFailed):
        cast(np.array([text], object), STRING, FP64)


def test_an_integer_out_of_range_says_so() -> None:
    with pytest.raises(CastFailed, match=r"'128' is outside Int8 \(-128 to 127\)"):
        cast(np.array(["128"], object), STRING, INT8)


def test_only_true_and_false_are_bools() -> None:
    assert cast(np.array(["TRUE", "false"], object), STRING, BOOL).tolist() == [True, False]
    with pytest.raises(CastFailed, match="'1' does not read as Bool"):
        cast(np.array(["1"], object), STRING, BOOL)


def test_something_that_is_not_text_among_texts_is_refused() -> None:
    with pytest.raises(CastFailed, match="'NoneType' is not text"):
        cast(np.array(["1", None], object), STRING, INT32)


def test_a_long_text_is_not_repeated_whole_in_the_error() -> None:
    with pytest.raises(CastFailed) as caught:
        cast(np.array(["x" * 10_000], object), STRING, FP32)
    assert len(str(caught.value)) < 120


def test_numpy_text_arrays_are_text_too() -> None:
    assert cast(np.array(["1", "2"]), STRING, INT32).tolist() == [1, 2]


# --- vectors ------------------------------------------------------------------------------------


def test_vectors_convert_element_by_element() -> None:
    got = cast(np.array([[1.9, -1.9], [300.0, math.nan]]), FP64.vector, INT8.vector)
    assert got.tolist() == [[1, -1], [127, 0]]


def test_a_wrong_element_of_a_text_vector_names_its_row() -> None:
    with pytest.raises(CastFailed) as caught:
        cast(np.array([["1", "2"], ["3", "x"]], object), STRING.vector, INT32.vector)
    assert caught.value.position == 1


def test_a_scalar_becomes_a_vector_of_one_and_back() -> None:
    vector = cast(np.array([1, 2]), INT64, FP32.vector)
    assert vector.tolist() == [[1.0], [2.0]]
    assert cast(vector, FP32.vector, INT64).tolist() == [1, 2]


def test_a_vector_of_several_is_not_a_scalar() -> None:
    with pytest.raises(CastFailed, match=r"FP32Vector of shape \[1, 2\]"):
        cast(np.ones((1, 2), np.float32), FP32.vector, FP32)


def test_text_and_vectors_convert_through_the_text_form() -> None:
    vectors = np.array([[1.5, 2.0], [0.1, -1.0]], np.float32)
    texts = cast(vectors, FP32.vector, STRING)
    assert texts.tolist() == ["1.5,2", "0.1,-1"]
    assert cast(texts, STRING, FP32.vector).tolist() == vectors.tolist()
    assert cast(texts, STRING, STRING.vector).tolist() == [["1.5", "2"], ["0.1", "-1"]]


def test_foreign_byte_order_is_read_as_the_numbers_it_holds() -> None:
    assert cast(np.array([1.5, 2.5], ">f4"), FP32, FP64).tolist() == [1.5, 2.5]


def test_an_array_announced_as_another_type_is_a_bug_and_said_so() -> None:
    with pytest.raises(EngineFault, match="int64 was announced as FP32"):
        cast(np.array([1]), FP32, INT8)
