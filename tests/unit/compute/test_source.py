"""Which text is which, and what makes two expressions the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from inferflow.compute import compile_expression
from inferflow.errors import ExpressionInvalid


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", "infix"),
        ("-1.5", "infix"),
        ("a - 1", "infix"),
        ("a -1", "infix"),
        ("a-b", "infix"),
        ("a b -", "postfix"),
        ("a -1 +", "postfix"),
        ("a b c * *", "postfix"),
        ("a log", "postfix"),
        ("user:age 2 *", "postfix"),
        ("user-age 2 *", "postfix"),
    ],
)
def test_a_bare_text_is_infix_if_it_parses_as_infix_and_postfix_otherwise(text, kind):
    for source in (text, {"expression": text}):
        expression = compile_expression(source)
        assert expression.kind == kind
        assert expression.source == text
        assert expression == compile_expression({kind: text})


def test_a_mapping_overrides_what_the_text_looks_like():
    assert compile_expression("a-b").variables == ("a", "b")
    assert compile_expression({"postfix": "a-b"}).variables == ("a-b",)


def test_a_text_that_is_neither_shows_why_for_both():
    with pytest.raises(ExpressionInvalid) as refused:
        compile_expression("ranker:score + 1")
    said = str(refused.value)
    assert "As infix: character 7: unexpected ':' (a full column name goes in backquotes)" in said
    assert "As postfix: character 14: '+' needs 2 value(s)" in said
    assert refused.value.position == 6


@pytest.mark.parametrize("text", ["log(a", "a+*b", "a:b+c", "`a"])
def test_mistyped_infix_does_not_pass_as_an_oddly_named_column(text):
    with pytest.raises(ExpressionInvalid, match="neither infix nor postfix"):
        compile_expression(text)
    assert compile_expression({"postfix": text}).variables == (text,)


def test_infix_with_an_unknown_function_is_not_tried_as_postfix():
    with pytest.raises(ExpressionInvalid, match=r"^character 1: there is no function lgo"):
        compile_expression("lgo(a)")


@pytest.mark.parametrize(
    "source", [{}, {"infx": "a"}, {"infix": "a", "postfix": "a"}, {"infix": 3}, 0.5, None, ["a"]]
)
def test_anything_but_text_or_a_mapping_with_one_known_key_is_refused(source):
    with pytest.raises(ExpressionInvalid, match=r"infix, postfix or expression|is text, not"):
        compile_expression(source)


def test_the_digest_tells_meanings_apart_and_not_spellings():
    same = {compile_expression(t).digest for t in ("a+b*2", "a + (b * 2.0)", "a b 2 * +")}
    assert len(same) == 1
    others = {compile_expression(t).digest for t in ("b+a*2", "a+b*3", "a-b*2", "`a b`", "a b *")}
    assert len(others) == 5
    assert not same & others


def test_the_digest_is_the_same_in_another_process():
    script = "from inferflow.compute import compile_expression as c; print(c('a*2+rank(b)').digest)"
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert other == compile_expression("a*2+rank(b)").digest


def test_an_expression_is_frozen_and_can_be_a_key():
    expression = compile_expression("a + 1")
    with pytest.raises(AttributeError):
        expression.source = "b"
    assert {expression: 1}[compile_expression("a + 1")] == 1
