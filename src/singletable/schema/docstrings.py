"""Docstrings of declarations: that of a class, and the texts that stand under its attributes. Sends nothing."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any


def class_doc(kind: type[Any]) -> str:
    """A class's docstring, without the one that `dataclass` makes of the signature."""
    said = kind.__doc__ or ""
    return "" if said.startswith(f"{kind.__name__}(") else inspect.cleandoc(said)


def class_summary(kind: type[Any]) -> str:
    """The first line of a class's docstring."""
    return class_doc(kind).partition("\n")[0]


def attribute_docs(kind: type[Any]) -> Mapping[str, str]:
    """The texts under a class's attributes, by name; those of its bases too. None if a class has no file, as one
    that was made in a console."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if inspect.get_annotations(base):
            found |= _texts_of_module(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _texts_of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """The texts of a module's classes, by class and attribute: its file is read once for all of them."""
    module = sys.modules.get(name)
    try:
        tree = ast.parse(inspect.getsource(module)) if module is not None else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):
        return {}
    return dict(_texts_in(tree.body, ""))


def _texts_in(body: Sequence[ast.stmt], within: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The texts of each class in a body, with the class's qualified name."""
    for each in body:
        if isinstance(each, ast.ClassDef):
            yield within + each.name, dict(_attributes(each.body))
            yield from _texts_in(each.body, f"{within}{each.name}.")
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _texts_in(each.body, f"{within}{each.name}.<locals>.")
        else:
            yield from _texts_in(getattr(each, "body", ()), within)


def _attributes(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for before, after in pairwise(body):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield before.target.id, inspect.cleandoc(text)
                case _:
                    continue
