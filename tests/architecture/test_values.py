"""What a dataclass of the library is: a value that nobody changes, or something with an identity of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.sources import Source
from tools.distributions import modules

_ACCUMULATORS = {
    "Attempt",
    "Batch",
    "Counts",
    "GarbageRun",
    "EdgeSetPlace",
    "Session",
    "WorkingVersion",
    "_Deletion",
    "_Entry",
    "_Stray",
}
"""They are filled while something goes on, and compared by nobody."""


def dataclasses() -> Iterator[tuple[str, set[str]]]:
    """The names of dataclasses, with those options that are on, or off."""
    for path in modules():
        classes = (node for node in Source.read(path).nodes if isinstance(node, ast.ClassDef))
        for each in classes:
            for decorator in each.decorator_list:
                call = ast.unparse(decorator)
                if call == "dataclass" or call.startswith("dataclass("):
                    yield each.name, set(call.removeprefix("dataclass(").rstrip(")").split(", "))


def test_a_dataclass_is_frozen_or_has_an_identity() -> None:
    found = list(dataclasses())
    assert len(found) > 100
    changing = {name for name, options in found if not options & {"frozen=True", "eq=False"}}
    assert changing == _ACCUMULATORS


_FILLED = {
    "Class",
    "ErasableItems",
    "OperationCount",
    "SiteTable",
    "UnfinishedExport",
    "_Known",
    "_Mutation",
    "_Version",
}
"""Structs that are filled while something goes on, or while JSON is read."""


def structs() -> Iterator[tuple[str, set[str]]]:
    """The names of msgspec's structs, with their options."""
    for path in modules():
        classes = (node for node in Source.read(path).nodes if isinstance(node, ast.ClassDef))
        for each in classes:
            if {"Struct", "msgspec.Struct"} & {ast.unparse(base) for base in each.bases}:
                yield each.name, {ast.unparse(option) for option in each.keywords}


def test_a_struct_is_frozen_or_has_an_identity() -> None:
    """But for the service's answers, whose names are written in Pascal case: they are made for each read."""
    found = list(structs())
    assert len(found) > 200
    assert {name for name, options in found if not options & {"frozen=True", "eq=False", "rename='pascal'"}} == _FILLED


def test_no_class_thaws_what_its_base_has_frozen() -> None:
    classes = [node for path in modules() for node in Source.read(path).nodes if isinstance(node, ast.ClassDef)]
    assert [each.name for each in classes if "frozen=False" in map(ast.unparse, each.keywords)] == []
