"""The mutants of a module: a piece of its text and what stands there instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
_NEGATED_ITSELF = (ast.Constant, ast.Compare, ast.UnaryOp)
"""Tests that another mutation turns round already."""
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One change. Offsets are of the file's bytes."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str
    code: str = ""
    """The line of code where it begins."""

    @property
    def name(self) -> str:
        """Stable while the text around it moves."""
        return f"{self.path}: {_short(self.before)} -> {_short(self.after)}"

    def applied(self, data: bytes) -> bytes:
        return data[: self.start] + self.after.encode() + data[self.end :]


def _short(text: str) -> str:
    return " ".join(text.split())


class Source:
    """A module's text and where its nodes are in it."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data
        self.tree = ast.parse(data)
        self._lines = data.splitlines(keepends=True)
        self._starts = list(accumulate(map(len, self._lines), initial=0))

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def replaced(self, node: ast.expr | ast.stmt, after: str) -> Mutant:
        start, end = self.span(node)
        code = self._lines[node.lineno - 1].decode().strip()
        return Mutant(self.path, node.lineno, start, end, self.text(start, end), after, code)

    def between(self, whole: ast.expr, left: ast.expr, right: ast.expr, after: str) -> Mutant:
        """Of an expression, with another operator between two of its operands."""
        start, end = self.span(whole)
        _, stop = self.span(left)
        begin, _ = self.span(right)
        gap = self.text(stop, begin)
        opening, closing = ")" * gap.count(")"), "(" * gap.count("(")
        changed = f"{self.text(start, stop)}{opening} {after} {closing}{self.text(begin, end)}"
        return self.replaced(whole, changed)


def mutants_of(path: Path, data: bytes) -> list[Mutant]:
    """Every mutant of a module. Some are not valid Python: see `is_valid`."""
    source = Source(path, data)
    return [mutant for node in _working_nodes(source.tree) for mutant in _of_node(source, node)]


def _working_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """All but annotations, docstrings, and what only type checkers read."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if _is_docstring(node):
            continue
        yield node
        skipped = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
        waiting.extend(child for child in ast.iter_child_nodes(node) if id(child) not in skipped)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_node(source: Source, node: ast.AST) -> Iterator[Mutant]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield source.between(node, left, right, COMPARISONS[type(op)])
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield source.between(node, left, right, "and" if isinstance(op, ast.Or) else "or")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            yield source.between(node, left, right, ARITHMETIC[type(op)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield source.replaced(node, f"({source.text(*source.span(operand))})")
        case ast.Constant(value=bool() as value):
            yield source.replaced(node, str(not value))
        case ast.Constant(value=int() as value):
            yield source.replaced(node, str(value + 1))
        case ast.Call(func=ast.Name(id=name) as function) if name in CALLS:
            yield source.replaced(function, CALLS[name])
        case ast.Call(keywords=[_, *_]):
            yield from (source.replaced(node, _without(node, number)) for number in range(len(node.keywords)))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield source.replaced(value, "None")
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield source.replaced(node, "pass")
        case ast.Continue():
            yield source.replaced(node, "break")
        case ast.Break():
            yield source.replaced(node, "continue")
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, _NEGATED_ITSELF):
            yield source.replaced(test, f"not ({source.text(*source.span(test))})")
        case _:
            return


def _without(call: ast.Call, number: int) -> str:
    """A call that leaves one of its named arguments to the default."""
    keywords = [each for n, each in enumerate(call.keywords) if n != number]
    return ast.unparse(ast.Call(call.func, call.args, keywords))


def is_valid(mutant: Mutant, data: bytes) -> bool:
    """Whether the changed module still compiles."""
    try:
        compile(mutant.applied(data), "mutant", "exec")
    except SyntaxError:
        return False
    return True
