"""Names of a package that are imported when they are first used: a program pays for what it asks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def late_names(package: str, /, extra: str = "", *, beside: bool = False, **modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: for each of its modules the names that it has for the package, as words.

    With `beside` that of a module, whose names come from the modules of its package.

    Of a package that needs an extra, a name raises NotConfigured if it is not installed. The package imports the same
    names for type checkers.
    """
    place = package.rpartition(".")[0] if beside else package
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name == "__all__":
            return [*module_of, *(other for other in vars(sys.modules[package]) if not other.startswith("_"))]
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        try:
            value = getattr(import_module(f"{place}.{module_of[name]}"), name)
        except ModuleNotFoundError as error:
            if not extra or (error.name or "").startswith("singletable"):
                raise
            raise _not_installed(name, error.name or "", extra) from None
        setattr(sys.modules[package], name, value)
        return value

    return find


def _not_installed(name: str, needed: str, extra: str) -> Exception:
    from singletable.errors import NotConfigured  # noqa: PLC0415 it is late, too

    return NotConfigured(f"{name} needs {needed}", hint=f"Install it: python -m pip install 'singletable[{extra}]'.")
