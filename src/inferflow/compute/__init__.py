"""The expression language: parse, check, evaluate over columns. Upstream: Numerix.

- `source`: from what people write to an `Expression`; which text is infix, which is postfix
- `infix`, `postfix`: the two spellings; `program`: the one form both become
- `functions`: every operator and function; `params`: what they take
- `elementwise`, `across`, `diversity`: how they are computed
- `machine`, `marks`, `columns`: the stack they run on, and rows that have no answer
- `expression`: the compiled, shareable value
- `book`: all expressions of a project; `embedded`: the compute runner over a book
"""

from inferflow.compute.book import ExpressionBook
from inferflow.compute.embedded import EmbeddedCompute, PreparedExpression
from inferflow.compute.expression import Evaluation, Expression
from inferflow.compute.functions import FUNCTIONS, Function
from inferflow.compute.program import MAX_DEPTH, MAX_LENGTH, MAX_NODES
from inferflow.compute.source import compile_expression

__all__ = [
    "FUNCTIONS",
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_NODES",
    "EmbeddedCompute",
    "Evaluation",
    "Expression",
    "ExpressionBook",
    "Function",
    "PreparedExpression",
    "compile_expression",
]
