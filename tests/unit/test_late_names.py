"""Packages import some of their names at the first use."""

from __future__ import annotations

from importlib import import_module

import pytest

PACKAGES = ("", ".erasure", ".exchange", ".migrations", ".records", ".reports")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_is_there_and_stays(package: str) -> None:
    module = import_module(f"singletable{package}")
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]


@pytest.mark.parametrize("package", PACKAGES)
def test_another_name_is_told_as_python_tells_it(package: str) -> None:
    module = import_module(f"singletable{package}")
    with pytest.raises(AttributeError, match=f"module 'singletable{package}' has no attribute 'nothing'") as told:
        _ = module.nothing
    assert (told.value.name, hasattr(module, "nothing")) == ("nothing", False)
