"""Every operator and function of the language, in one table.

`FUNCTIONS` is what both spellings are compiled against, what the checks at load ask, and what
the reference page has to cover (a test compares them). Names that are words can be called in
infix; `in_postfix` marks the operators of the original, the only ones postfix text knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from inferflow.compute import across, elementwise
from inferflow.compute.across import AcrossRows, NaNRows
from inferflow.compute.diversity import diversity
from inferflow.compute.machine import Check, Kernel, Step, binary, ternary, unary
from inferflow.compute.marks import Why
from inferflow.compute.params import Param, Setting


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function with everything the compiler asks about it."""

    name: str
    params: tuple[Param, ...]
    doc: str
    step: Step
    cross_row: bool = False
    """True when a row's answer depends on other rows."""
    in_postfix: bool = False
    of_one: str = ""
    """`min` and `max`: the function a call with one argument means. A call with more than two
    is the binary form applied again and again."""

    @property
    def is_callable(self) -> bool:
        """Operators such as `+` have no name that could be called."""
        return self.name.isidentifier()

    @property
    def arity(self) -> tuple[int, int | None]:
        """Fewest and most arguments of a call; None means any number."""
        if self.of_one:
            return 1, None
        optional = sum(isinstance(p, Setting) and p.default is not None for p in self.params)
        return len(self.params) - optional, len(self.params)

    @property
    def signature(self) -> str:
        """As it is written in infix: `softmax(x, temperature=1)`, `a + b`."""
        names = [param.name for param in self.params]
        if not self.is_callable:
            return f"{names[0]} {self.name} {names[1]}" if len(names) == 2 else self.name + names[0]
        for i, param in enumerate(self.params):
            if isinstance(param, Setting) and param.default is not None:
                names[i] += f"={param.default:g}"
        return f"{self.name}({', '.join(names)}{', …' if self.of_one else ''})"


X, A, B = Param("x"), Param("a"), Param("b")


def _of_x(name: str, doc: str, kernel: Kernel, check: Check | None = None) -> Function:
    return Function(name, (X,), doc, unary(kernel, check))


def _of_two(name: str, doc: str, kernel: Kernel, check: Check | None = None) -> Function:
    return Function(name, (A, B), doc, binary(kernel, check), in_postfix=True)


def _across(
    name: str,
    doc: str,
    kernel: Kernel,
    *settings: Setting,
    nan_rows: NaNRows = NaNRows.LEFT_OUT,
    blank: float = float("nan"),
    in_postfix: bool = False,
) -> Function:
    step = AcrossRows(kernel, settings, nan_rows=nan_rows, blank=blank)
    return Function(name, (X, *settings), doc, step, cross_row=True, in_postfix=in_postfix)


_K = Setting(
    "k", must_be="a whole number, 0 or more", holds=lambda k: k >= 0 and float(k).is_integer()
)
_PERCENT = Setting("p", must_be="between 0 and 100", holds=lambda p: 0 <= p <= 100)
_STRENGTH = Setting("strength", must_be="between 0 and 1", holds=lambda s: 0 <= s <= 1)
_TEMPERATURE = Setting(
    "temperature", must_be="above 0", holds=lambda t: 0 < t < float("inf"), default=1.0
)


def _operators() -> Iterable[Function]:
    truth = elementwise.truth
    yield _of_two("+", "Sum.", np.add)
    yield _of_two("-", "Difference.", np.subtract)
    yield _of_two("*", "Product.", np.multiply)
    yield _of_two(
        "/", "Quotient. A zero divisor marks the row.", np.divide, elementwise.divisor_is_zero
    )
    yield _of_two("^", "Power. NaN where there is no real answer.", np.power)
    yield _of_two(">", "1 if greater, else 0.", truth(np.greater))
    yield _of_two("<", "1 if less, else 0.", truth(np.less))
    yield _of_two(">=", "1 if greater or equal, else 0.", truth(np.greater_equal))
    yield _of_two("<=", "1 if less or equal, else 0.", truth(np.less_equal))
    yield _of_two("==", "1 if exactly equal, else 0.", truth(np.equal))
    yield Function(
        "!=", (A, B), "1 if not equal, else 0; the opposite of ==.", binary(truth(np.not_equal))
    )
    yield _of_two(
        "&",
        "1 if both are 1. Anything but 0 and 1 marks the row.",
        truth(np.logical_and),
        elementwise.either_not_boolean(Why.AND),
    )
    yield _of_two(
        "|",
        "1 if either is 1. Anything but 0 and 1 marks the row.",
        truth(np.logical_or),
        elementwise.either_not_boolean(Why.OR),
    )
    yield _of_x(
        "!",
        "1 if 0, 0 if 1. Anything else marks the row.",
        truth(np.logical_not),
        elementwise.operand_not_boolean,
    )


def _row_by_row() -> Iterable[Function]:
    for name, kernel, which in (("min", np.fmin, "smallest"), ("max", np.fmax, "largest")):
        yield Function(
            name,
            (A, B),
            f"The {which} of two or more; NaN gives way. Of one column: reduce_{name}.",
            binary(kernel),
            in_postfix=True,
            of_one=f"reduce_{name}",
        )
    yield Function("exp", (X,), "e to the power of x.", unary(np.exp), in_postfix=True)
    yield Function(
        "log",
        (X,),
        "Natural logarithm. x ≤ 0 marks the row.",
        unary(np.log, elementwise.at_most(0.0, Why.LOG)),
        in_postfix=True,
    )
    yield Function("abs", (X,), "Absolute value.", unary(np.absolute), in_postfix=True)
    yield _of_x(
        "log1p",
        "Natural logarithm of 1 + x. x ≤ -1 marks the row.",
        np.log1p,
        elementwise.at_most(-1.0, Why.LOG1P),
    )
    yield _of_x("sqrt", "Square root. x < 0 marks the row.", np.sqrt, elementwise.below_zero)
    yield _of_x("sigmoid", "1 / (1 + e^-x).", elementwise.sigmoid)
    yield _of_x("floor", "The next whole number at or below x.", np.floor)
    yield _of_x("ceil", "The next whole number at or above x.", np.ceil)
    yield _of_x("round", "The nearest whole number; halves go to the even one.", np.rint)
    yield _of_x("sign", "-1, 0 or 1.", np.sign)
    yield _of_x("isnan", "1 if NaN, else 0.", elementwise.truth(np.isnan))
    yield Function(
        "clip",
        (X, Param("lo"), Param("hi")),
        "x, but not below lo and not above hi. If lo > hi, hi.",
        ternary(elementwise.clip),
    )
    yield Function(
        "if",
        (Param("c"), A, B),
        "a where c is 1, b where c is 0. Any other c marks the row.",
        elementwise.choose,
    )
    yield Function("default", (X, Param("v")), "x, or v where x is NaN.", elementwise.default)


def _over_rows() -> Iterable[Function]:
    yield _across("sum", "Sum of the column.", np.add.reduce, blank=0.0)
    yield _across("mean", "Mean of the column.", across.mean)
    yield _across("std", "Standard deviation of the column (divided by n).", across.std)
    yield _across("count", "How many rows have a value.", across.count, blank=0.0)
    yield _across("reduce_min", "The smallest value of the column.", np.minimum.reduce)
    yield _across("reduce_max", "The largest value of the column.", np.maximum.reduce)
    yield _across(
        "percentile",
        "The p-th percentile of the column, interpolated linearly.",
        across.percentile,
        _PERCENT,
    )
    yield _across("zscore", "(x - mean) / std; 0 when the column is constant.", across.zscore)
    yield _across(
        "softmax",
        "e^(x / temperature), scaled to sum up to 1.",
        across.softmax,
        _TEMPERATURE,
    )
    yield _across("rank", "1 for the highest value; equal values share the best rank.", across.rank)
    yield _across(
        "percent_rank",
        "Share of the other rows that are not higher: (n - rank) / (n - 1).",
        across.percent_rank,
    )
    yield _across(
        "topk",
        "1 for the k highest values, else 0; of equal values the earlier rows win.",
        across.topk,
        _K,
        blank=0.0,
    )
    yield _across(
        "norm_min_max",
        "(x - min) / (max - min); 1 when the column is constant.",
        across.norm_min_max,
        in_postfix=True,
    )
    yield _across(
        "percentile_rank",
        "Position of the row, i / (n - 1) in row order; 1 when the column is constant.",
        across.percentile_rank,
        nan_rows=NaNRows.COUNTED,
        in_postfix=True,
    )
    for low, high in ((0, 99), (5, 95)):
        yield _across(
            f"norm_percentile_{low}_{high}",
            f"(x - p{low}) / (p{high} - p{low}), not clipped; x - 1 when both are equal.",
            across.norm_percentile(low, high),
            nan_rows=NaNRows.MARKED,
            in_postfix=True,
        )
    yield Function(
        "diversity",
        (Param("score"), Param("group", is_group=True), _STRENGTH),
        "Re-ranked score: 1 for the first row of the diversified order, down to 1/n.",
        AcrossRows(diversity, (_STRENGTH,), columns=2),
        cross_row=True,
    )


FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (*_operators(), *_row_by_row(), *_over_rows())
}
