"""A package imports only public names of another one. CONTRIBUTING has the rule, under "How the code is laid out"."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

from tests.architecture.sources import Source, sources

PUBLIC_MODULES = ("flows", "inspect")
"""Modules of a package that others may import too: its verbs over a port; what it declares and keeps, to be read."""

FACADE_OF = {"singletable.foundation": ("singletable.records", "singletable.schema")}
"""A module that is the facade of packages below it, for all layers."""


def package_of(module: str) -> str:
    """A package of the library; of a distribution beside it, its one package."""
    return ".".join(module.split(".")[: 2 if module.startswith("singletable.") else 1])


def exported(file: Source) -> frozenset[str]:
    """The names in the `__all__` of a file."""
    lists = [node.value for node in file.tree.body if isinstance(node, ast.Assign) and _assigns_all(node)]
    return frozenset(ast.literal_eval(lists[0])) if lists else frozenset()


def _assigns_all(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"


def past_the_facade(files: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """The imports of what another package does not make public: which module, and what it imports."""
    packages = {file.module for file in files if file.is_package}
    public = {file.module: exported(file) for file in files}
    for file in files:
        for name, _ in file.imports():
            package = package_of(name)
            if package not in packages or package in (package_of(file.module), *FACADE_OF.get(file.module, ())):
                continue
            module, _, own = name.rpartition(".")
            is_public_module = module in (package, *(f"{package}.{each}" for each in PUBLIC_MODULES))
            if name != package and not (is_public_module and own in public.get(module, ())):
                yield file.module, name


def test_a_package_imports_only_public_names_of_another_one() -> None:
    assert [f"{module} imports {name}" for module, name in past_the_facade(sources())] == []


def test_a_package_has_all_names_that_it_lists() -> None:
    packages = [file.module for file in sources() if file.is_package]
    assert [f"{name} of {package}" for package in packages for name in missing(import_module(package))] == []


def missing(package: ModuleType) -> list[str]:
    names = [name for name in getattr(package, "__all__", ()) if getattr(package, name, None) is None]
    return [name for name in names if find_spec(f"{package.__name__}.{name}") is None]


LAYER = [
    Source("singletable.layer", "from singletable.layer.inner import Open\n__all__ = ['Open', 'flows']", True),
    Source("singletable.layer.inner", "class Open: ...\nclass Inner: ..."),
    Source("singletable.layer.flows", "from singletable.layer.inner import Inner\n__all__ = ['run']"),
    Source("singletable.layer.inspect", "__all__ = ['Inner']\nfrom singletable.layer.inner import Inner", True),
]


@pytest.mark.parametrize(
    "text",
    [
        "from singletable.layer import Open, flows",
        "import singletable.layer",
        "from singletable.layer.flows import run",
        "from singletable.layer.inspect import Inner",
    ],
)
def test_public_names_may_be_imported(text: str) -> None:
    assert list(past_the_facade([*LAYER, Source("singletable.other", text)])) == []


@pytest.mark.parametrize(
    "text",
    [
        "from singletable.layer.inner import Open",
        "from singletable.layer import inner",
        "import singletable.layer.inner",
        "from singletable.layer.flows import Inner",
        "from singletable.layer.inspect import Open",
        "if TYPE_CHECKING:\n    from singletable.layer.inner import Open",
        "def late():\n    from singletable.layer.inner import Open",
        "import_module('singletable.layer.inner')",
    ],
)
def test_what_goes_past_the_facade_is_seen(text: str) -> None:
    assert [module for module, _ in past_the_facade([*LAYER, Source("singletable.other", text)])] == [
        "singletable.other"
    ]
