"""The files of the distributions as the tests of architecture read them: who imports whom, and their lines of code."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tools.distributions import ROOT as ROOT, SOURCES, modules

_SHELL_WORDS = re.compile(r"\b(async|await) |\bAsync(?=[A-Z])|\ba(?=sync_)")
Edge = tuple[str, str]
"""An import: who, and whom."""


@dataclass(frozen=True)
class Source:
    """A file by its module's name and its text."""

    module: str
    text: str
    is_package: bool = False

    @classmethod
    @cache
    def read(cls, path: Path) -> Source:
        """The file, read once; `conftest.py` forgets all of them after the last test of the folder."""
        source = next(source for source in SOURCES if path.is_relative_to(source))
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        return cls(".".join(parts[:-1] if is_package else parts), path.read_text(), is_package)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def public(self) -> frozenset[str]:
        """The names for other packages: its own, and the imports `X as X`, as type checkers read it."""
        own = {node.name for node in self.tree.body if isinstance(node, _DEFINES)}
        own |= {node.id for child in self.tree.body for node in _targets(child) if isinstance(node, ast.Name)}
        imports = (name for node in self.nodes if isinstance(node, ast.ImportFrom) for name in node.names)
        passed_on = {name.name for name in imports if name.asname == name.name}
        return frozenset(name for name in own | passed_on if not name.startswith("_"))

    @property
    def is_generated(self) -> bool:
        """Its first line says so."""
        return "generated" in self.text.partition("\n")[0].lower()

    def imports(self) -> Iterator[tuple[str, bool]]:
        """Names of modules, or of what is in one, each with whether it is imported for types only.

        An import within a function counts, and one by `import_module`.
        """
        yield from self._all_imports

    @cached_property
    def _all_imports(self) -> tuple[tuple[str, bool], ...]:
        return tuple(self._imports(self.tree, types_only=False))

    def _imports(self, node: ast.AST, *, types_only: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node) if self._calls_import else _statements_in(node):
            if isinstance(child, ast.If) and _is_name(child.test, "TYPE_CHECKING"):
                for inner in child.body:
                    yield from self._imports(ast.Module([inner], []), types_only=True)
                for inner in child.orelse:
                    yield from self._imports(ast.Module([inner], []), types_only=types_only)
                continue
            for name in self._named(child):
                yield name, types_only
            yield from self._imports(child, types_only=types_only)

    @cached_property
    def _calls_import(self) -> bool:
        """Whether an expression may import. All others have what imports among their statements, a tenth of all."""
        return "import_module" in self.text

    def _named(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{self._base(node)}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _is_name(node.func, "import_module"):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Constant) and str(inner.value).startswith("singletable"):
                    yield str(inner.value)

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        own = self.module.split(".")
        above = own[: len(own) - node.level + self.is_package]
        return ".".join([*above, *([node.module] if node.module else [])])

    def code(self) -> list[tuple[int, str]]:
        """The lines with code, each with its number: no comment, docstring or import.

        Two lines that differ in their spaces, or in what tells the awaiting form from the blocking one, are the same.
        """
        left_out = {number for node in _left_out(self.tree) for number in range(node.lineno, _end(node) + 1)}
        lines: dict[int, list[str]] = {}
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type in _NO_CODE or token.start[0] in left_out:
                continue
            lines.setdefault(token.start[0], []).append(token.string)
        return [(number, _SHELL_WORDS.sub("", " ".join(words))) for number, words in lines.items()]


_DEFINES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def _statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, handlers and cases right below a statement."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(node, name, ())


def _left_out(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        is_left_out = isinstance(node, (ast.Import, ast.ImportFrom)) or _is_docstring(node)
        if isinstance(node, ast.stmt) and is_left_out:
            yield node


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def sources() -> list[Source]:
    return [Source.read(path) for path in modules()]


def import_graph(files: list[Source]) -> tuple[set[Edge], set[Edge]]:
    """Who imports whom, file by file: when the program runs, and for types only."""
    known = {file.module for file in files}
    runs: set[Edge] = set()
    types: set[Edge] = set()
    for file in files:
        for name, types_only in file.imports():
            whom = next((m for m in (name, name.rpartition(".")[0]) if m in known), None)
            if whom is not None and whom != file.module:
                (types if types_only else runs).add((file.module, whom))
    return runs, types - runs


def cycles(edges: Set[Edge]) -> list[list[str]]:
    """Groups of files that each lead to all others of the group."""
    whom = _by_importer(edges)
    reached = {module: _reached(whom, module) for module in whom}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in whom
        if module in reached[module]
    }
    return sorted(list(group) for group in groups)


def closes_a_cycle(edge: Edge, edges: Set[Edge]) -> bool:
    """Whether the other edges lead from its end back to its beginning."""
    one, other = edge
    return one in _reached(_by_importer(edges - {edge}), other)


def _by_importer(edges: Set[Edge]) -> dict[str, set[str]]:
    whom: dict[str, set[str]] = {}
    for one, other in edges:
        whom.setdefault(one, set()).add(other)
        whom.setdefault(other, set())
    return whom


def _reached(whom: Mapping[str, Set[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        new = whom.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


@dataclass(frozen=True)
class Shared:
    """Lines of two places that are the same."""

    one: str
    other: str
    lines: int

    def __str__(self) -> str:
        return f"{self.one} and {self.other} share {self.lines} lines"


def shared(files: list[Source], more_than: int) -> list[Shared]:
    """The pairs of places with more lines of code in common, one after the other, than `more_than`."""
    code = {file.module: file.code() for file in files}
    places: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for module, lines in code.items():
        for start in range(len(lines) - more_than):
            window = tuple(text for _, text in lines[start : start + more_than + 1])
            places.setdefault(window, []).append((module, start))
    pairs = {(a, b) for found in places.values() for i, a in enumerate(found) for b in found[i + 1 :]}
    result: list[Shared] = []
    for one, other in sorted(pairs):
        if ((one[0], one[1] - 1), (other[0], other[1] - 1)) in pairs:
            continue
        length = 0
        while ((one[0], one[1] + length), (other[0], other[1] + length)) in pairs:
            length += 1
        at = [f"{module}:{code[module][start][0]}" for module, start in (one, other)]
        result.append(Shared(at[0], at[1], length + more_than))
    return result
