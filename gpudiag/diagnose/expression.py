"""④ The expressions of rules: parsed, checked for kinds, and never run as Python.

Python's own parser gives the tree; a whitelist walk turns it into `Node`s and refuses all else.
Whatever the text, the outcome is a `Node` or an `ExpressionError`, quickly: the characters, the
length and the depth are limited before anything is built. `evaluate.py` computes the Nodes.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import warnings
from collections.abc import Mapping

from gpudiag.diagnose.functions import FUNCTIONS, Function
from gpudiag.diagnose.nodes import Context, ExpressionError, Kind, Node

MAX_LENGTH = 2000
MAX_DEPTH = 40
_ALLOWED = re.compile(r"[A-Za-z0-9_ .,+\-*/<>=()\t\r\n]*", re.ASCII)
_ONLY = "only figures, names, + - * /, comparisons, and, or, and functions have a meaning here"
_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
}


def parse(text: str, context: Context, *kinds: Kind) -> Node:
    """The checked tree of `text`. Raises ExpressionError, also where it is none of `kinds`."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    if not text.strip():
        raise ExpressionError("an expression is missing", 1)
    allowed = _ALLOWED.match(text)
    position = allowed.end() if allowed else 0
    if position < len(text):
        raise ExpressionError(_stranger(text[position:]), position + 1)
    node = _Parser(text, context).parse()
    if kinds and node.kind not in kinds:
        raise ExpressionError(f"this is a {node.kind}, not a {' or a '.join(kinds)}", node.column)
    return node


def _stranger(rest: str) -> str:
    if rest.startswith("!="):
        return "there is no '!=' (missing data must never accuse): say what is, not what is not"
    if rest[0] in "\"'":
        return "there is no text in an expression, only figures and conditions"
    return f"{rest[0]!a} has no meaning in an expression"


class _Parser:
    """One walk over one text."""

    def __init__(self, text: str, context: Context) -> None:
        self.lead = len(text) - len(text.lstrip())
        self.text = re.sub(r"\s", " ", text).strip()
        self.context = context
        self.in_gpus = False

    def parse(self) -> Node:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Python, on text such as `1or 2`
                tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            column = min(error.offset or len(self.text) + 1, len(self.text) + 1)
            raise ExpressionError(
                "this cannot be read as an expression", self.lead + column
            ) from None
        except (ValueError, RecursionError, MemoryError, OverflowError):
            raise ExpressionError("too deeply nested, or too large a figure", 1) from None
        return self.walk(tree, 0)

    def error(self, problem: str, node: ast.expr) -> ExpressionError:
        return ExpressionError(problem, self.lead + node.col_offset + 1)

    def make(self, op: str, kind: Kind, node: ast.expr, *args: Node, name: str = "") -> Node:
        return Node(
            op,
            kind,
            args,
            name,
            per_gpu=any(arg.per_gpu for arg in args),
            uses_cost=any(arg.uses_cost for arg in args),
            text=self.text[node.col_offset : node.end_col_offset],
            column=self.lead + node.col_offset + 1,
        )

    def walk(self, node: ast.expr, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} deep", node)
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name():
                return self.named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic("negative", node, self.walk(operand, depth + 1))
            case ast.UnaryOp(op=ast.Not()):
                raise self.error("there is no 'not' (missing data must never accuse)", node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                sides = self.walk(left, depth + 1), self.walk(right, depth + 1)
                return self.arithmetic(_ARITHMETIC[type(op)], node, *sides)
            case ast.Compare():
                return self.compare(node, depth)
            case ast.BoolOp(op=op, values=values):
                args = [self.walk(value, depth + 1) for value in values]
                return self.logic("and" if isinstance(op, ast.And) else "or", node, args)
            case ast.Call():
                return self.call(node, depth)
            case _:
                raise self.error(
                    "only figures, names, + - * /, comparisons, and, or, functions", node
                )

    def constant(self, node: ast.Constant) -> Node:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise self.error("only plain figures are known", node)
        try:
            number = float(node.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error("too large a figure", node)
        made = self.make("number", "figure", node)
        return Node(made.op, made.kind, number=number, text=made.text, column=made.column)

    def named(self, node: ast.Name) -> Node:
        name, column = node.id, self.lead + node.col_offset + 1
        if name in self.context.thresholds:
            value = self.context.thresholds[name]
            return Node("number", "figure", number=value, text=name, column=column)
        if name == "cost":
            if not self.context.cost:
                raise self.error("'cost' is known only in severity, confidence and texts", node)
            return Node("cost", "figure", uses_cost=True, text=name, column=column)
        symbol = self.context.symbols.get(name)
        if symbol is None:
            raise self.error(self.unknown(name), node)
        if symbol.per_gpu and not (self.context.per_gpu or self.in_gpus):
            inner = f"mean({name})" if symbol.kind == "series" else name
            raise self.error(
                f"{name!r} is measured for each GPU: write gpus_max({inner}) or the like, "
                'or give the rule scope = "gpu"',
                node,
            )
        return Node("name", symbol.kind, (), name, per_gpu=symbol.per_gpu, text=name, column=column)

    def unknown(self, name: str) -> str:
        if name in FUNCTIONS:
            return f"{name!r} is a function: write {name}(…)"
        known = [*self.context.symbols, *self.context.thresholds]
        near = difflib.get_close_matches(name[:60], known, n=1)
        return f"unknown name {name[:60]!r}" + (f" (did you mean {near[0]!r}?)" if near else "")

    def arithmetic(self, op: str, node: ast.expr, *args: Node) -> Node:
        for arg in args:
            if arg.kind not in ("figure", "series"):
                raise ExpressionError(f"a {arg.kind} is not a figure to reckon with", arg.column)
        kind: Kind = "series" if any(arg.kind == "series" for arg in args) else "figure"
        return self.make(op, kind, node, *args)

    def compare(self, node: ast.Compare, depth: int) -> Node:
        values = [self.walk(value, depth + 1) for value in (node.left, *node.comparators)]
        pairs = []
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARE:
                raise self.error("only < <= > >= == compare", node)
            series = self.arithmetic("", node, left, right).kind == "series"
            kind: Kind = "series condition" if series else "condition"
            pairs.append(self.make(_COMPARE[type(op)], kind, node, left, right))
        return pairs[0] if len(pairs) == 1 else self.logic("and", node, pairs)

    def logic(self, op: str, node: ast.expr, args: list[Node]) -> Node:
        for arg in args:
            if arg.kind in ("figure", "series"):
                raise ExpressionError(
                    f"'{op}' joins conditions, and this is a {arg.kind}: compare it", arg.column
                )
        series = any(arg.kind == "series condition" for arg in args)
        return self.make(op, "series condition" if series else "condition", node, *args)

    def call(self, node: ast.Call, depth: int) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self.error("only functions can be called", node)
        name = node.func.id
        function = FUNCTIONS.get(name)
        if function is None:
            near = difflib.get_close_matches(name[:60], FUNCTIONS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise self.error(f"unknown function {name[:60]!r}{hint}", node)
        if node.keywords or not function.fewest <= len(node.args) <= function.most:
            raise self.error(f"{name}() takes {function.takes}", node)
        over_gpus = function.over == "gpus"
        if over_gpus and self.in_gpus:
            raise self.error("gpus_…() cannot stand inside gpus_…()", node)
        self.in_gpus = self.in_gpus or over_gpus
        args = [self.walk(arg, depth + 1) for arg in node.args]
        self.in_gpus = self.in_gpus and not over_gpus
        self.check_arguments(name, function, args)
        made = self.make(name, "figure", node, *args)
        if not over_gpus:
            return made
        return Node(
            name, "figure", made.args, uses_cost=made.uses_cost, text=made.text, column=made.column
        )

    def check_arguments(self, name: str, function: Function, args: list[Node]) -> None:
        for arg in args:
            if arg.kind != function.argument:
                hint = f"; write {name}(mean(…))" if function.over == "gpus" else ""
                raise ExpressionError(
                    f"{name}() takes {function.takes}, and this is a {arg.kind}{hint}", arg.column
                )
            if function.over == "gpus" and not arg.per_gpu:
                raise ExpressionError(
                    f"{name}() compares GPUs, and this is the same for all of them", arg.column
                )
