"""Parts of the house that a program loads when it first asks for them: the import is what a cold start waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


class Later:
    """A module that is imported with the first look at something in it."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(import_module(self.__name__), attribute)
        setattr(self, attribute, found)
        return found


def later(own: dict[str, Any], names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose globals are `own`; `names` says where each of its late names comes from."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {own['__name__']!r} has no attribute {name!r}", name=name)
        found = own[name] = getattr(import_module(names[name]), name)
        return found

    return find
