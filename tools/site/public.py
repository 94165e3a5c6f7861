"""What is public: the names of the packages that applications import, and the page that each is described on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "reference" / "api"
ERRORS = ROOT / "docs" / "reference" / "errors.md"
PACKAGES = (
    "singletable",
    "singletable.records",
    "singletable.graph",
    "singletable.documents",
    "singletable.streams",
    "singletable.tasks",
    "singletable.queues",
    "singletable.sync",
    "singletable.migrations",
    "singletable.erasure",
    "singletable.exchange",
    "singletable.reports",
    "singletable.deploy",
    "singletable.errors",
)
"""All that their `__all__` lists is for applications."""
GROUND = {
    "singletable.wire": (
        *("Credentials", "CredentialSource", "FetchedCredentials", "StaticCredentials"),
        *("RetryPolicy", "Timeouts", "read_fault"),
    ),
    "singletable.flow": ("Capability", "OperationCount", "Rate", "Traits", "drive", "unmetered"),
    "singletable.tables": ("Billing", "Description", "Difference", "Provisioned", "StreamView", "TableClass"),
    "singletable.expressions": ("Attribute", "Handle", "Size"),
    "singletable.schema": ("Whole", "model_of"),
    "singletable.operations": ("Guard", "UpdateItem"),
    "singletable.values": ("AttributeValue", "item_size"),
    "singletable.local": ("ENGINE_VARIABLE", "find_engine"),
    "singletable.pytest_plugin": ("budget",),
}
"""Of the packages below, what applications meet; the rest of them is the library's own."""
_HEADING = re.compile(r"^(#{2,3}) ((?:`[\w.]+`(?: · )?)+|\w+ · `[\w.-]+`)$")
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def names_of(package: str) -> tuple[str, ...]:
    """The public names of a package, without the modules that it exports for its siblings."""
    if package in GROUND:
        return GROUND[package]
    module = import_module(package)
    listed: list[str] = getattr(module, "__all__", None) or _errors_of(module)
    return tuple(name for name in listed if not isinstance(getattr(module, name), ModuleType))


def _errors_of(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, Exception)]


def all_packages() -> tuple[str, ...]:
    return (*PACKAGES, *GROUND)


def page_of(package: str) -> Path:
    """Where its names are described. The packages below share a page; errors have one of their own."""
    if package == "singletable.errors":
        return ERRORS
    return API / f"{'ground' if package in GROUND else package.removeprefix('singletable.')}.md"


def packages_on(page: Path) -> tuple[str, ...]:
    return tuple(package for package in all_packages() if page_of(package) == page)


def names_in(heading: str) -> tuple[int, tuple[str, ...]] | None:
    """The level of a heading that names public things, and the names; None for any other line."""
    found = _HEADING.match(heading)
    if found is None:
        return None
    text = found[2]
    names = re.findall(r"`([\w.]+)`", text) if text.startswith("`") else [text.split(" ")[0]]
    return len(found[1]), tuple(names)


def sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names of each heading, and the text down to the next such heading."""
    names: tuple[str, ...] = ()
    lines: list[str] = []
    for line in text.splitlines():
        if found := names_in(line):
            yield names, "\n".join(lines)
            names, lines = found[1], []
        else:
            lines.append(line)
    yield names, "\n".join(lines)


def examples(text: str) -> str:
    """The Python of a text."""
    return "\n".join(_PYTHON.findall(text + "\n"))
