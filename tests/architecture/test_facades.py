"""A package imports only public names of another one. CONTRIBUTING has the rule, under "How the code is laid out"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

import pytest

from tests.architecture.sources import Source, sources

PUBLIC_MODULES = ("flows", "inspect")
"""Modules of a package that others may import too: its verbs over a port; what it declares and keeps, to be read."""

FACADE_OF = {"singletable.foundation": ("singletable.records", "singletable.schema")}
"""A module that is the facade of packages below it, for all layers."""


def package_of(module: str) -> str:
    """A package of the library; of a distribution beside it, its one package."""
    return ".".join(module.split(".")[: 2 if module.startswith("singletable.") else 1])


def past_the_facade(files: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """The imports of what another package does not make public: which module, and what it imports."""
    packages = {file.module for file in files if file.is_package}
    public = {file.module: file.public for file in files}
    for file in files:
        for name, _ in file.imports():
            package = package_of(name)
            if package not in packages or package in (package_of(file.module), *FACADE_OF.get(file.module, ())):
                continue
            module, _, own = name.rpartition(".")
            modules = {f"{package}.{each}" for each in PUBLIC_MODULES} & public.keys()
            if name not in {package, *modules} and not (module in {package, *modules} and own in public[module]):
                yield file.module, name


def test_a_package_imports_only_public_names_of_another_one() -> None:
    assert [f"{module} imports {name}" for module, name in past_the_facade(sources())] == []


def test_a_package_has_all_names_that_it_lists() -> None:
    packages = [file for file in sources() if file.is_package]
    assert [f"{name} of {file.module}" for file in packages for name in missing(file)] == []


def missing(file: Source) -> list[str]:
    package = import_module(file.module)
    names = [name for name in sorted(file.public) if getattr(package, name, None) is None]
    return [name for name in names if find_spec(f"{file.module}.{name}") is None]


LAYER = [
    Source(
        "singletable.layer",
        "from singletable.layer import flows as flows\nfrom singletable.layer.inner import Open as Open",
        True,
    ),
    Source("singletable.layer.inner", "class Open: ...\nclass Inner: ..."),
    Source("singletable.layer.flows", "from singletable.layer.inner import Inner\ndef run(): ..."),
    Source(
        "singletable.layer.inspect",
        "from singletable.layer.inner import Inner as Inner, Open\nMOST = 3\n_LEAST = 1\ndef shown(): ...",
        True,
    ),
]


@pytest.mark.parametrize(
    "text",
    [
        "from singletable.layer import Open, flows",
        "import singletable.layer",
        "from singletable.layer.flows import run",
        "from singletable.layer.inspect import Inner, MOST, shown",
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
        "from singletable.layer.inspect import _LEAST",
        "if TYPE_CHECKING:\n    from singletable.layer.inner import Open",
        "def late():\n    from singletable.layer.inner import Open",
        "import_module('singletable.layer.inner')",
    ],
)
def test_what_goes_past_the_facade_is_seen(text: str) -> None:
    assert [module for module, _ in past_the_facade([*LAYER, Source("singletable.other", text)])] == [
        "singletable.other"
    ]
