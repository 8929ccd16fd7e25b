"""Random expressions: both spellings mean the same, and columns agree with one row at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.compute import FUNCTIONS, compile_expression
from inferflow.dtypes import FP32, FP64


@dataclass(frozen=True)
class Tree:
    """A number, a column or a call, depending on what `head` is."""

    head: float | str
    arguments: tuple[Tree, ...] = ()


COLUMNS = ("a", "b", "c")
numbers = st.sampled_from([0.0, 1.0, 2.0, 0.5, -1.0, -2.5])
values = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.25, -1.0, -3.0, math.nan, math.inf, -math.inf])
tables = st.integers(1, 6).flatmap(
    lambda rows: st.tuples(*[st.lists(values, min_size=rows, max_size=rows)] * len(COLUMNS))
)


def trees(arities: dict[str, int]) -> st.SearchStrategy[Tree]:
    leaves = st.builds(Tree, numbers | st.sampled_from(COLUMNS))

    def calls(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.sampled_from(sorted(arities)).flatmap(
            lambda name: st.tuples(*[inner] * arities[name]).map(lambda a: Tree(name, a))
        )

    return st.recursive(leaves, calls, max_leaves=10)


# --- both spellings ---------------------------------------------------------------------------

ORIGINAL = {name: len(f.params) for name, f in FUNCTIONS.items() if f.in_postfix}
BINDING = {"|": 1, "&": 2, "+": 4, "-": 4, "*": 5, "/": 5, "^": 7}
COMPARISON, PREFIX, ATOM = 3, 6, 8


def postfix(tree: Tree) -> str:
    head = f"{tree.head:g}" if isinstance(tree.head, float) else tree.head
    return " ".join([*map(postfix, tree.arguments), head])


def infix(tree: Tree) -> tuple[str, int]:
    """The text with no parenthesis that is not needed, and how tightly it binds."""
    if isinstance(tree.head, float):
        return f"{tree.head:g}", ATOM if tree.head >= 0 else PREFIX
    if not tree.arguments:
        return tree.head, ATOM
    inner = [infix(argument) for argument in tree.arguments]
    if tree.head.isidentifier():
        return f"{tree.head}({', '.join(text for text, _ in inner)})", ATOM
    if len(inner) == 1:
        return tree.head + within(inner[0], PREFIX), PREFIX
    power = BINDING.get(tree.head, COMPARISON)
    left = power + 1 if tree.head == "^" or power == COMPARISON else power
    right = PREFIX if tree.head == "^" else power + 1
    return f"{within(inner[0], left)} {tree.head} {within(inner[1], right)}", power


def within(part: tuple[str, int], loosest: int) -> str:
    text, power = part
    return text if power >= loosest else f"({text})"


def test_all_of_the_originals_operators_are_drawn():
    assert sorted(ORIGINAL.values()) == [1] * 7 + [2] * 14


@given(trees(ORIGINAL), tables)
def test_infix_and_postfix_spellings_of_a_tree_are_the_same_expression(tree, table):
    one = compile_expression({"infix": infix(tree)[0]})
    other = compile_expression({"postfix": postfix(tree)})
    assert one.postfix() == other.postfix() == postfix(tree)
    assert one.digest == other.digest
    assert one.variables == other.variables
    given_columns = [np.array(table[COLUMNS.index(name)]) for name in one.variables]
    left, right = (e.evaluate(given_columns, len(table[0])) for e in (one, other))
    np.testing.assert_array_equal(left.values, right.values)
    np.testing.assert_array_equal(left.invalid, right.invalid)


# --- against one row at a time ----------------------------------------------------------------

EXACT = {
    name: len(FUNCTIONS[name].params)
    for name in (
        *("+", "-", "*", "/", ">", "<", ">=", "<=", "==", "!=", "&", "|", "!"),
        *("min", "max", "abs", "sqrt", "floor", "ceil", "round", "sign", "isnan"),
        *("clip", "if", "default"),
        *("count", "reduce_min", "reduce_max", "rank", "percent_rank"),
        *("norm_min_max", "percentile_rank"),
    )
}
"""Functions whose answer is exact, so that slow and fast agree to the last bit."""

NO_ANSWER = object()


def pick_number(x, y, better):
    return y if math.isnan(x) else x if math.isnan(y) or better(x, y) else y


def slow_rank(xs):
    return [1 + sum(other > x for other in xs) for x in xs]


def slow_percent_rank(xs, F):
    return [F(len(xs) - r) / F(len(xs) - 1) if len(xs) > 1 else F(1) for r in slow_rank(xs)]


def slow_norm_min_max(xs, F):
    low, high = min(xs), max(xs)
    return [(x - low) / (high - low) if low != high else F(1) for x in xs]


def slow_percentile_rank(xs, F):
    if all(x == xs[0] for x in xs) or len(xs) == 1:
        return [F(1)] * len(xs)
    return [F(i) / F(len(xs) - 1) for i in range(len(xs))]


STATISTICS = {"count": len, "reduce_min": min, "reduce_max": max}
ACROSS = {
    "rank": lambda xs, F: [F(r) for r in slow_rank(xs)],
    "percent_rank": slow_percent_rank,
    "norm_min_max": slow_norm_min_max,
    "percentile_rank": slow_percentile_rank,
}


def slow(tree, table, F):
    """One answer per row; NO_ANSWER where there is none."""
    rows = len(table[0])
    if isinstance(tree.head, float):
        return [F(tree.head)] * rows
    if not tree.arguments:
        return [F(x) for x in table[COLUMNS.index(tree.head)]]
    inner = [slow(argument, table, F) for argument in tree.arguments]
    if tree.head in ACROSS or tree.head in STATISTICS:
        return slow_across(tree.head, inner[0], F)
    return [slow_row(tree.head, row, F) for row in zip(*inner, strict=True)]


def slow_across(name, column, F):
    def takes_part(x):
        return x is not NO_ANSWER and (name == "percentile_rank" or not math.isnan(x))

    part = [x for x in column if takes_part(x)]
    if name in STATISTICS:
        statistic = F(STATISTICS[name](part) if part else 0 if name == "count" else math.nan)
        return [NO_ANSWER if x is NO_ANSWER else statistic for x in column]
    remaining = iter(ACROSS[name](part, F) if part else [])
    return [
        next(remaining) if takes_part(x) else NO_ANSWER if x is NO_ANSWER else F(math.nan)
        for x in column
    ]


def slow_row(name, row, F):
    if name == "if":
        condition, then, otherwise = row
        if condition is NO_ANSWER or condition not in (0, 1):
            return NO_ANSWER
        return then if condition else otherwise
    if name == "default":
        value, fallback = row
        return fallback if value is not NO_ANSWER and math.isnan(value) else value
    if any(value is NO_ANSWER for value in row):
        return NO_ANSWER
    if (
        (name == "/" and row[1] == 0)
        or (name == "sqrt" and row[0] < 0)
        or (name in ("&", "|", "!") and any(value not in (0, 1) for value in row))
    ):
        return NO_ANSWER
    return F(ROW_BY_ROW[name](*row))


ROW_BY_ROW = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    ">": lambda x, y: x > y,
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "&": lambda x, y: x == 1 and y == 1,
    "|": lambda x, y: x == 1 or y == 1,
    "!": lambda x: x == 0,
    "min": lambda x, y: pick_number(x, y, lambda p, q: p < q),
    "max": lambda x, y: pick_number(x, y, lambda p, q: p > q),
    "abs": abs,
    "sqrt": lambda x: math.sqrt(x) if math.isfinite(x) else x,
    "floor": lambda x: math.floor(x) if math.isfinite(x) else x,
    "ceil": lambda x: math.ceil(x) if math.isfinite(x) else x,
    "round": lambda x: round(float(x)) if math.isfinite(x) else x,
    "sign": lambda x: x if math.isnan(x) else int(x > 0) - int(x < 0),
    "isnan": math.isnan,
    "clip": lambda x, lo, hi: (
        math.nan if any(map(math.isnan, (x, lo, hi))) else min(max(x, lo), hi)
    ),
}


@settings(max_examples=300)
@given(trees(EXACT), tables, st.sampled_from([FP32, FP64]))
def test_columns_agree_with_one_row_at_a_time_marks_included(tree, table, precision):
    expression = compile_expression({"infix": infix(tree)[0]})
    answer = expression.evaluate(
        [np.array(table[COLUMNS.index(name)]) for name in expression.variables],
        len(table[0]),
        precision=precision,
    )
    with np.errstate(all="ignore"):
        expected = slow(tree, table, precision.numpy.type)
    marked = [value is NO_ANSWER for value in expected]
    assert (answer.invalid is not None) == any(marked)
    assert answer.invalid is None or answer.invalid.tolist() == marked
    np.testing.assert_array_equal(
        answer.values, [math.nan if value is NO_ANSWER else value for value in expected]
    )
