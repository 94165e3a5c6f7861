"""The layout in CONTRIBUTING names every package, in the order of the import contract; `connect` loads its core."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from tests.architecture.sources import ROOT, sources
from tests.architecture.test_imports import output_of

_ROW = re.compile(r"^\| (core|layer|tool|beside) \| ([^|]+) \|", re.MULTILINE)


class Row(NamedTuple):
    """A row of the layout: packages that don't import each other."""

    part: str
    packages: frozenset[str]


def layout() -> list[Row]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return [Row(part, frozenset(re.findall(r"`(\w+)`", packages))) for part, packages in _ROW.findall(text)]


def short(module: str) -> str:
    """A package by its name in the layout."""
    return module.removeprefix("singletable.").partition(".")[0]


def test_every_package_and_module_is_in_the_layout() -> None:
    packages = [short(file.module) for file in sources() if file.module != "singletable"]
    named = [package for row in layout() for package in row.packages]
    assert sorted(named) == sorted(set(packages))


def test_its_rows_are_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads(Path(ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (staircase,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    layers = [frozenset(short(name.strip(" ()")) for name in layer.split("|")) for layer in staircase]
    assert [row.packages for row in layout()] == layers[::-1]


def test_connect_loads_the_core_alone() -> None:
    code = "import sys; from singletable import Entity, Table, connect; print(*sys.modules)"
    loaded = {short(name) for name in output_of("-c", code).split() if name.startswith("singletable.")}
    core = {package for row in layout() if row.part == "core" for package in row.packages}
    assert loaded - core == set()
