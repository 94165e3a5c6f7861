"""The examples are what a user would write: they import names of the library that docs/reference/api describes, and
nothing of this repository but what they install.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tools.distributions import APPLICATIONS, EXAMPLES, ROOT
from tools.site.public import GROUND, PACKAGES, passed_on

TESTING = ROOT / "examples/shared/src/examples_shared/testing"
OF_THE_LIBRARY = ("singletable", "singletable_deploy", "singletable_engine", "singletable_local", "singletable_mcp")
OF_THE_REPOSITORY = ("benchmarks", "conftest", "examples", "requirements", "tests", "tools")
SHARED = "examples_shared"
PACKAGE_OF = {"shared": SHARED, "demo": "examples_demo"}
"""Of each folder, where it is not the folder's name."""
NEEDS = {"demo": {*APPLICATIONS, SHARED}, "shared": set[str]()}
"""Of the packages of this repository, what each may import besides its own; an application what is shared."""
_ROLES = "roles are judged by the library's model of IAM"
_KILLS = "killed at a request of the library"
_QUEUES = "on an emulator of SQS and Lambda"
_STORED = "items as they are stored, whatever the class"
INNER: Mapping[str, str] = {
    "goals/tests/test_broken_files.py": _STORED,
    "goals/tests/test_deployment.py": _ROLES,
    "manhunt/tests/processes.py": _KILLS,
    "manhunt/tests/test_crashes.py": _KILLS,
    "manhunt/tests/test_deployment.py": _ROLES,
    "manhunt/tests/test_erasure.py": _STORED,
    "manhunt/tests/test_escalation.py": "a stream whose records are gone",
    "manhunt/tests/test_lambda.py": _QUEUES,
    "manhunt/tests/test_picture.py": _STORED,
    "manhunt/tests/test_queries.py": "the whole catalogue, and thousands of items in one write",
    "organisations/tests/support.py": _STORED,
    "organisations/tests/test_deployment.py": _ROLES,
    "organisations/tests/test_erasure.py": _STORED,
    "organisations/tests/test_jobs.py": _KILLS,
    "projects/tests/board/replicache.py": "Replicache's client in Node",
    "projects/tests/board/test_processors.py": _QUEUES,
    "projects/tests/test_broken_files.py": _STORED,
    "projects/tests/test_deployment.py": _ROLES,
    "projects/tests/test_own_history.py": "bytes that are written, by the kind of item",
}
"""The tests that try the library by an application, with what of its own tests or inner names they need."""
_PROVIDED_BY = {"jinja2": "jinja2", "opentelemetry": "opentelemetry-sdk", "yaml": "pyyaml", "obstore": "singletable"}
"""The distribution of a module, where the name is another one."""


def project_of(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return project


def package_of(folder: Path) -> str:
    return PACKAGE_OF.get(folder.name, folder.name)


def modules_of(folder: Path) -> list[Path]:
    """But for `testing`, which is an extra."""
    return sorted(path for path in (folder / "src").rglob("*.py") if path.parent != TESTING)


MODULES = [*(path for folder in EXAMPLES for path in modules_of(folder)), *(ROOT / "examples/recipes").glob("*.py")]


def imports_of(text: str) -> Iterator[tuple[str, str]]:
    """Module and name of everything that is imported; no name where it is the module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from ((f"{'.' * node.level}{node.module or ''}", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@cache
def described(package: str) -> frozenset[str]:
    """The names of a package that docs/reference/api describes."""
    if package not in PACKAGES:
        return frozenset(GROUND.get(package, ()))
    values = vars(import_module(package)).items()
    defined = (name for name, value in values if getattr(value, "__module__", "") == package)
    return frozenset((*passed_on(package), *(name for name in defined if not name.startswith("_"))))


def inner_names(text: str) -> list[str]:
    """What is imported of the library though no page describes it."""
    return [
        f"{module}:{name}" if name else module
        for module, name in imports_of(text)
        if module.partition(".")[0] in OF_THE_LIBRARY
        and name not in described(module)
        and f"{module}.{name}".rstrip(".") not in PACKAGES
    ]


def top_of(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT / "examples").as_posix())
def test_it_imports_described_names_only(module: Path) -> None:
    assert inner_names(module.read_text()) == []


def test_only_these_tests_know_what_is_not_described() -> None:
    tests = [path for folder in EXAMPLES for path in sorted((folder / "tests").rglob("*.py"))]
    inner = [path for path in [*tests, *sorted(TESTING.glob("*.py"))] if knows_inner(path.read_text())]
    assert [path.relative_to(ROOT / "examples").as_posix() for path in inner] == sorted(INNER)


def knows_inner(text: str) -> bool:
    """Whether it imports inner names of the library, or what this repository doesn't install."""
    tops = {top_of(module) for module, _ in imports_of(text)}
    return bool(inner_names(text)) or bool(tops & {*OF_THE_REPOSITORY} - {"examples"})


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_it_imports_nothing_of_the_repository_but_what_it_may(folder: Path) -> None:
    own = {package_of(each) for each in EXAMPLES} | {*OF_THE_REPOSITORY}
    found = {top_of(module) for path in modules_of(folder) for module, _ in imports_of(path.read_text())}
    assert found & own - {package_of(folder)} <= NEEDS.get(folder.name, {SHARED})


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_its_distribution_asks_for_what_it_imports(folder: Path) -> None:
    """But for what a deployment imports, which is an extra."""
    asked = {re.split(r"[\[ >=@]", each)[0] for each in project_of(folder)["dependencies"]}
    files = [path for path in modules_of(folder) if path.name != "deployment.py"]
    found = {top_of(module) for path in files for module, _ in imports_of(path.read_text())}
    provided = {package_of(each): project_of(each)["name"] for each in EXAMPLES} | _PROVIDED_BY
    assert asked == {provided.get(name, name) for name in found - sys.stdlib_module_names - {package_of(folder)}}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_deployment_is_an_extra(application: str) -> None:
    assert project_of(ROOT / "examples" / application)["optional-dependencies"]["deploy"] == ["singletable[deploy]"]


@pytest.mark.parametrize(
    "text",
    [
        "from singletable.records.read import get",
        "import singletable.wire.delivery",
        "from singletable.foundation import model_of",
        "from singletable.schema import Model",
        "from singletable import _port",
        "def late():\n    from singletable.operations import Scan",
    ],
)
def test_an_inner_name_is_seen(text: str) -> None:
    assert len(inner_names(text)) == 1


@pytest.mark.parametrize(
    "text", ["import singletable", "from singletable import Table, reports", "from singletable.values import item_size"]
)
def test_a_described_name_passes(text: str) -> None:
    assert inner_names(text) == []
