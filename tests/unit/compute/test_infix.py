"""The infix grammar: what binds to what, and what is said when it does not."""

from __future__ import annotations

import pytest

from inferflow.compute import MAX_DEPTH, MAX_LENGTH, MAX_NODES, compile_expression
from inferflow.errors import ExpressionInvalid


@pytest.mark.parametrize(
    ("infix", "postfix"),
    [
        ("a + b * c", "a b c * +"),
        ("(a + b) * c", "a b + c *"),
        ("a - b - c", "a b - c -"),
        ("a / b / c", "a b / c /"),
        ("a ^ b ^ c", "a b c ^ ^"),
        ("-a ^ 2", "a 2 ^ -1 *"),
        ("2 ^ -a", "2 a -1 * ^"),
        ("(-2) ^ 2", "-2 2 ^"),
        ("a - -2", "a -2 -"),
        ("- -2", "2"),
        ("-a * b", "a -1 * b *"),
        ("a > b & c <= d | e == 1", "a b > c d <= & e 1 == |"),
        ("a | b & c", "a b c & |"),
        ("a + 1 > b * 2", "a 1 + b 2 * >"),
        ("log(abs(a))", "a abs log"),
        ("max(a, b)", "a b max"),
        ("min(a, b, c)", "a b c min min"),
        ("norm_min_max(a)*0.5", "a norm_min_max 0.5 *"),
        ("`user:profile:age` / 100", "user:profile:age 100 /"),
        ("1e3 * .5 * 5. * 2.5E-1", "1000 0.5 * 5 * 0.25 *"),
    ],
)
def test_infix_compiles_to_the_same_instructions_as_its_postfix(infix, postfix):
    compiled = compile_expression({"infix": infix})
    assert compiled.postfix() == postfix
    assert compiled.digest == compile_expression({"postfix": postfix}).digest


def test_not_binds_to_the_operand_right_after_it():
    assert compile_expression("!a & b").postfix() == "a ! b &"
    assert compile_expression("!(a & b) != c").postfix() == "a b & ! c !="


def test_a_name_is_a_function_only_where_a_parenthesis_follows():
    assert compile_expression("min(min, `log`)").variables == ("min", "log")
    assert compile_expression("min").postfix() == "`min`"


def test_min_and_max_of_one_column_are_its_extremes():
    assert compile_expression("max(a) - min(a)").postfix() == "a reduce_max a reduce_min -"


def test_an_argument_left_out_takes_its_default():
    assert compile_expression("softmax(a)").postfix() == "a 1 softmax"


def test_variables_are_listed_once_in_first_use_order():
    assert compile_expression("b + a * b + `c:d`").variables == ("b", "a", "c:d")


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a +", 3, "unexpected end"),
        ("a b", 2, "unexpected 'b'"),
        ("a + * b", 4, "unexpected '*'"),
        ("a ** b", 3, "power is ^"),
        ("a && b", 3, "and is a single &"),
        ("a = b", 2, "equality is =="),
        ("(a + b", 6, "the ( at character 1 is still open"),
        ("a + b)", 5, "unexpected ')'"),
        ("log(a", 5, "the ( at character 4 is still open"),
        ("a < b < c", 6, "join comparisons with &"),
        ("ranker:score + 1", 6, "a full column name goes in backquotes"),
        ("a + `b", 4, "closing backquote"),
        ("a + $b", 4, "unexpected '$'"),
        ("2x", 1, "unexpected 'x'"),
        ("+a", 0, "unexpected '+'"),
        ("max(a,)", 6, "unexpected ')'"),
        ("1e999", 0, "too large"),
    ],
)
def test_a_syntax_error_names_its_place_and_the_fix(text, position, words):
    with pytest.raises(ExpressionInvalid) as refused:
        compile_expression({"infix": text})
    assert refused.value.position == position
    assert f"character {position + 1}" in str(refused.value)
    assert words in str(refused.value)


def test_an_unknown_function_is_refused_with_the_nearest_name():
    with pytest.raises(ExpressionInvalid, match="there is no function sigmiod") as refused:
        compile_expression("1 + sigmiod(a)")
    assert refused.value.position == 4
    assert refused.value.hint == "did you mean sigmoid?"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clip(a, 1)", "clip takes 3 argument(s), not 2"),
        ("sigmoid()", "sigmoid takes 1 argument(s), not 0"),
        ("softmax(a, 1, 2)", "softmax takes 1 or 2 argument(s), not 3"),
        ("max()", "max takes 1 or more argument(s), not 0"),
    ],
)
def test_a_wrong_number_of_arguments_is_refused_at_load(text, words):
    with pytest.raises(ExpressionInvalid) as refused:
        compile_expression(text)
    assert words in str(refused.value)
    assert "it is " in refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topk(a, 1.5)", "k must be a whole number"),
        ("topk(a, -1)", "k must be a whole number"),
        ("softmax(a, 0)", "temperature must be above 0"),
        ("percentile(a, 101)", "p must be between 0 and 100"),
        ("diversity(a, b, 2)", "strength must be between 0 and 1"),
    ],
)
def test_a_literal_setting_out_of_range_is_refused_at_load(text, words):
    with pytest.raises(ExpressionInvalid, match=words):
        compile_expression(text)


@pytest.mark.parametrize("kind", ["infix", "postfix"])
def test_an_expression_at_the_length_limit_is_read_and_one_beyond_is_refused(kind):
    compile_expression({kind: "a".ljust(MAX_LENGTH)})
    with pytest.raises(ExpressionInvalid, match=f"limit is {MAX_LENGTH}"):
        compile_expression({kind: "a".ljust(MAX_LENGTH + 1)})


def test_an_expression_with_too_many_nodes_is_refused_where_the_limit_is_crossed():
    most = "+".join(["a"] * (MAX_NODES // 2))
    compile_expression({"infix": most})
    with pytest.raises(ExpressionInvalid, match=f"more than {MAX_NODES}") as refused:
        compile_expression({"infix": f"{most}+a"})
    assert refused.value.position == len(most)
    with pytest.raises(ExpressionInvalid, match=f"more than {MAX_NODES}"):
        compile_expression({"postfix": "a" + " a +" * (MAX_NODES // 2)})


@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("-", ""), ("!", ""), ("abs(", ")"), ("1^", "")]
)
def test_nesting_is_limited(opening, closing):
    def nested(levels: int) -> str:
        return opening * levels + "a" + closing * levels

    compile_expression({"infix": nested(MAX_DEPTH - 1)})
    with pytest.raises(ExpressionInvalid, match=f"nested more than {MAX_DEPTH} levels") as refused:
        compile_expression({"infix": nested(MAX_DEPTH)})
    assert refused.value.position == MAX_DEPTH * len(opening)


def test_values_waiting_to_be_used_are_limited():
    compile_expression({"postfix": "a " * MAX_DEPTH + "+ " * (MAX_DEPTH - 1)})
    with pytest.raises(ExpressionInvalid, match=f"more than {MAX_DEPTH} values wait"):
        compile_expression({"postfix": "a " * (MAX_DEPTH + 1) + "+ " * MAX_DEPTH})
    with pytest.raises(ExpressionInvalid, match=f"more than {MAX_DEPTH} values wait"):
        compile_expression(f"max({','.join(['a'] * (MAX_DEPTH + 1))})")
