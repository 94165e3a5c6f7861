"""What the tests of a distribution import is installed where they run alone: `tests/soak` runs them there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Set
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.distributions import EXAMPLE_SOURCES, ROOT
from tools.release.alone import NEEDED, TESTS, TOOLS

FOLDERS = (ROOT, *EXAMPLE_SOURCES)


@pytest.mark.parametrize("distribution", TESTS)
def test_what_its_tests_import_is_installed_beside_it(distribution: str) -> None:
    installed = closure({f"singletable-{distribution}", "singletable[local]", *TOOLS, *NEEDED[distribution]})
    providers = packages_distributions()
    missing = {
        f"{module} in {path.relative_to(ROOT)}"
        for module, path in imports_of(distribution).items()
        if not {canonicalize_name(name) for name in (module, *providers.get(module, ()))} & installed
    }
    assert missing == set()


def imports_of(distribution: str) -> Mapping[str, Path]:
    """The names of others' modules that the tests, and this checkout's modules which they import, need at once."""
    waiting = [path for folder in TESTS[distribution] for path in Path(ROOT, folder).rglob("*.py")]
    waiting.append(ROOT / "conftest.py")
    seen: set[Path] = set()
    others: dict[str, Path] = {}
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imported(ast.parse(path.read_text()).body):
            waiting += files_of(name)
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and not any((folder / top).is_dir() for folder in FOLDERS):
                others.setdefault(top, path)
    return others


def imported(body: list[ast.stmt]) -> Iterator[str]:
    """What the module's own level imports: not what a function does, nor what types alone need."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def files_of(name: str) -> Iterator[Path]:
    """The files of this checkout that an import of the name runs; none of an attribute or of another's module."""
    for folder in FOLDERS:
        stem = folder.joinpath(*name.split("."))
        yield from (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.exists())


def closure(names: Set[str]) -> Set[str]:
    """The distributions that an installation of these brings, extras with them."""
    waiting, found = [Requirement(name) for name in names], set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        for extra in ("", *requirement.extras):
            if (requirement.name, extra) not in found:
                found.add((requirement.name, extra))
                waiting += needs_of(requirement.name, extra)
    return {canonicalize_name(name) for name, _ in found}


def needs_of(name: str, extra: str) -> list[Requirement]:
    try:
        needed = [Requirement(line) for line in requires(name) or ()]
    except PackageNotFoundError:  # the engine's binary: it needs nothing
        return []
    return [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
