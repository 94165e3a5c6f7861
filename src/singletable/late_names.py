"""Names of a package that are imported when they are first used: a program pays for what it asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def late_names(package: str, /, **modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: for each of its modules the names that it has for the package, as words."""
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        found = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
