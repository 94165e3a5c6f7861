"""Packages import some of their names at the first use."""

from __future__ import annotations

from importlib import import_module
from inspect import getclosurevars

import pytest

from tools.site.public import passed_on

PACKAGES = ("", ".erasure", ".exchange", ".migrations", ".records", ".reports")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_is_there_and_stays(package: str) -> None:
    module = import_module(f"singletable{package}")
    names = passed_on(module.__name__)
    assert {*names} <= {*module.__all__}
    for name in names:
        assert getattr(module, name) is vars(module)[name]


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_every_late_name(package: str) -> None:
    module = import_module(f"singletable{package}")
    late = getclosurevars(module.__getattr__).nonlocals["module_of"]
    assert late
    assert late.keys() <= {*passed_on(module.__name__)}


def test_a_star_imports_late_names_too() -> None:
    space: dict[str, object] = {}
    exec("from singletable.erasure import *", space)
    assert {"AsyncErasure", "Erasure"} <= space.keys()


@pytest.mark.parametrize("package", PACKAGES)
def test_another_name_is_told_as_python_tells_it(package: str) -> None:
    module = import_module(f"singletable{package}")
    with pytest.raises(AttributeError, match=f"module 'singletable{package}' has no attribute 'nothing'") as told:
        _ = module.nothing
    assert (told.value.name, hasattr(module, "nothing")) == ("nothing", False)
