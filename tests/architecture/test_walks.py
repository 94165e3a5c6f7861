"""The walks of docs/explanation/design.md: each stay is a function that there is, and no walk passes its bound."""

from __future__ import annotations

import re
from itertools import pairwise
from pkgutil import resolve_name

import pytest

from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs/explanation/design.md").read_text()
WALKS = {
    verb: (int(stays), int(returns), re.findall(r"`([\w.]+)`", text))
    for verb, stays, returns, text in re.findall(
        r"^\*\*(\w+)\*\*[^(\n]*\((\d+) stays, (\d+) returns\):(.+?)\n\n", PAGE, re.DOTALL | re.MULTILINE
    )
}
MOST = {"update": (44, 29), "create": (34, 18), "page": (24, 9), "get": (22, 8)}
"""The most stays and returns of a walk."""


def module_of(stay: str) -> str:
    """The module of a function, of a class or of its method."""
    *names, _ = stay.split(".")
    return ".".join(name for name in names if name == name.lower())


def returns_of(walk: list[str]) -> int:
    """How often a walk comes back into a module that it had left."""
    modules = [module_of(stay) for stay in walk]
    return sum(one != two and two in modules[:at] for at, (one, two) in enumerate(pairwise(modules), 1))


@pytest.mark.parametrize("verb", MOST)
def test_a_walk_is_as_short_as_the_page_says(verb: str) -> None:
    stays, returns, walk = WALKS[verb]
    most_stays, most_returns = MOST[verb]
    assert len(walk) == stays <= most_stays
    assert returns_of(walk) == returns <= most_returns


@pytest.mark.parametrize("verb", MOST)
def test_each_stay_is_a_function_of_the_library(verb: str) -> None:
    for stay in WALKS[verb][2]:
        assert callable(resolve_name(f"singletable.{module_of(stay)}:{stay.removeprefix(module_of(stay) + '.')}")), stay


def test_a_step_back_is_a_return() -> None:
    assert returns_of(["records.send.update", "records.read.get", "records.send.create", "records.send.put"]) == 1
