"""Every public name has a docstring, a heading on its package's page, and an example there. They run in
`test_api_examples.py`; `make check` asks this file, which needs no engine."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe
import pytest

from singletable import SingletableError
from tests.docs.pages import PAGES as PAGES_WITH_CODE, ROOT, named
from tests.support.no_engine import no_engine
from tools.site.declarations import docstring, found, methods
from tools.site.inner import INNER, is_inner
from tools.site.public import (
    API,
    ERRORS,
    PACKAGES,
    all_packages,
    examples,
    names_in,
    names_of,
    page_of,
    passed_on,
    sections,
)

__all__ = ["no_engine"]

PAGES = sorted({*API.glob("*.md"), ERRORS} - {API / "index.md"})
NAMES = [(package, name) for package in all_packages() for name in names_of(package)]
PASSED_ON = {
    "singletable": ("reports",),
    "singletable.flow": ("FlowSuspended",),
    "singletable.pytest_plugin": ("metered",),
}
"""Public too: a package, an error that is described among the errors, what a fixture returns."""
_FENCED = re.compile(r"^```py(?:thon)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COST = re.compile(
    r"request|\bunits?\b|round trip|\bcosts?\b|nothing|scan|quer(y|ies)|\breads?\b|\bwrites?\b|no data", re.I
)
OWN_ERRORS_OF_NONE = {
    *("AsyncDatabase.close", "AsyncDatabase.describe_table", "AsyncDatabase.iter", "AsyncDatabase.sweep_table"),
    *("AsyncDocuments.history", "AsyncDocuments.last_ids", "AsyncDocuments.outcomes", "AsyncDocuments.check"),
    *("AsyncGraph.delete_node", "AsyncGraph.walk", "AsyncGraph.count_edges"),
    *("AsyncChangeWorker.dead_letters", "AsyncChangeWorker.check"),
    *("AsyncTaskWorker.run", "AsyncTaskWorker.drain", "AsyncTaskWorker.send_due"),
    *("AsyncTaskWorker.dead_letters", "AsyncTaskWorker.lag", "AsyncTaskWorker.check"),
}
"""They raise what every verb may raise, which the class of the database says."""


def errors_below(kind: type[SingletableError]) -> Iterator[str]:
    yield kind.__name__
    for below in kind.__subclasses__():
        yield from errors_below(below)


ERROR_NAMES = {*errors_below(SingletableError), "KeyError"}


@cache
def sections_of(page: Path) -> list[tuple[tuple[str, ...], str]]:
    return list(sections(page.read_text()))


@pytest.mark.parametrize(("package", "name"), NAMES, ids=[f"{package}.{name}" for package, name in NAMES])
def test_a_name_has_an_example_under_its_heading(package: str, name: str) -> None:
    shown = [examples(text) for names, text in sections_of(page_of(package)) if name in names]
    assert shown, f"docs/reference has no heading for {name}: write it in {page_of(package).name}, with an example"
    assert any(re.search(rf"\b{name}\b", code) for code in shown), f"{page_of(package).name}: no example uses {name}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_it_describes_nothing_that_is_not_there(page: Path) -> None:
    known = {name for package in all_packages() for name in _exported(package)}
    headings = [names for line in page.read_text().splitlines() if (names := names_in(line))]
    described = {name.partition(".")[0] for _, names in headings for name in names}
    assert described - known == set()


def _exported(package: str) -> set[str]:
    return {*names_of(package), *passed_on(package)} | {"FlowSuspended"}


def _documented() -> Iterator[tuple[str, Any]]:
    """Public classes and functions, and the public methods of classes."""
    for package, name in NAMES:
        value = getattr(import_module(package), name)
        if inspect.isfunction(value) or (isinstance(value, type) and value.__module__.startswith("singletable")):
            yield f"{package}.{name}", value


DOCUMENTED = dict(_documented())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_class_or_function_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(DOCUMENTED[name])


def test_what_is_left_out_as_the_library_s_own_is_there() -> None:
    described = [found(package, name) for package, name in NAMES]
    members = [member for each in described if isinstance(each, griffe.Class) for member in each.all_members.values()]
    own = [each.final_target if isinstance(each, griffe.Alias) else each for each in members]
    assert {f"{each.parent.name}.{each.name}" for each in own if each.parent and is_inner(each)} == INNER


CODE = [*PAGES_WITH_CODE, *sorted(path for path in (ROOT / "examples").rglob("*.py") if "tests" not in path.parts)]
LOOKS_INSIDE = {("docs/how-to/types.md", "singletable.schema", "model_of")}
"""To show what is stored; it says that this is the library's own."""


@pytest.mark.parametrize("file", CODE, ids=named)
def test_what_is_shown_imports_public_names_alone(file: Path) -> None:
    """A reader builds on what is shown."""
    inside = {(named(file), of, name) for of, name in _imported(file) if name not in _importable(of)}
    assert inside - LOOKS_INSIDE == set()


def _imported(file: Path) -> Iterator[tuple[str, str]]:
    texts = [file.read_text()] if file.suffix == ".py" else _FENCED.findall(file.read_text())
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "singletable":
            yield from ((node.module or "", alias.name) for alias in node.names)


@cache
def _importable(package: str) -> set[str]:
    of_the_page = {*names_of(package)} if package in all_packages() else set[str]()
    listed = passed_on(package) if package in PACKAGES else ()
    return {*of_the_page, *listed, *PASSED_ON.get(package, ())}


def test_a_method_has_a_docstring() -> None:
    members = [(f"{package}.{name}", methods(found(package, name))) for package, name in NAMES]
    assert [f"{name}.{method}" for name, of in members for method, at in of if not docstring(at)] == []


VERBS = {
    f"{name}.{verb}": method
    for name, kind in DOCUMENTED.items()
    if isinstance(kind, type) and name.rpartition(".")[2].startswith("Async")
    for verb, method in vars(kind).items()
    if not verb.startswith("_") and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_says_what_it_costs_and_what_it_raises(name: str) -> None:
    told = inspect.getdoc(VERBS[name]) or ""
    assert _COST.search(told), f"{name}: which requests, which units?"
    assert {*re.findall(r"\w+", told)} & ERROR_NAMES or ".".join(name.split(".")[-2:]) in OWN_ERRORS_OF_NONE, name
