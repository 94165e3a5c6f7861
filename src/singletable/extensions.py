"""Extensions: the parts that layers, and other distributions, add to the library's tools, by entry points.

A tool owns a group: its name, the type of its entries, and the library's own entries, from `singletable.entry_points`.
Those of other distributions are found in their metadata:

    [project.entry-points."singletable.commands"]
    audit = "shop_audit.commands:audit"

* An entry is imported when it is loaded, and not before: a list of names imports nothing.
* A name is one entry's. The library's own entries are found first, without a search of the installed distributions.
* Each error names the entry point, its group and its distribution. A broken entry breaks what needs it, and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from typing import Any, Generic, TypeVar

from singletable.errors import NotConfigured

T = TypeVar("T")


@dataclass(frozen=True)
class RegisteredEntry:
    """One entry point. Without a distribution, it is the library's own."""

    group: str
    name: str
    value: str
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        owner = f"{self.distribution} {self.version}" if self.distribution else "singletable"
        return f"the entry point {self.name} = {self.value!r} of {owner} ({self.group})"

    @property
    def module(self) -> str:
        return self.value.partition(":")[0].strip()

    @property
    def attribute(self) -> str:
        return self.value.partition(":")[2].strip()

    def load(self) -> Any:
        return attrgetter(self.attribute)(import_module(self.module))


@dataclass(frozen=True, eq=False)
class ExtensionGroup(Generic[T]):
    """A group of entry points that a tool loads."""

    name: str
    kind: type[T]
    own: Mapping[str, str]

    def entries(self) -> Mapping[str, RegisteredEntry]:
        """Every entry by its name. Raises NotConfigured if two have the same name."""
        return _entries(self, tuple(sys.path))

    def entry(self, name: str) -> RegisteredEntry | None:
        """The entry of a name; None if it is missing."""
        return RegisteredEntry(self.name, name, self.own[name]) if name in self.own else self.entries().get(name)

    def load(self, entry: RegisteredEntry) -> T:
        """Load an entry. Raises NotConfigured if another distribution's can't be imported, or has another type."""
        try:
            value = entry.load()
        except Exception as error:
            if not entry.distribution:
                raise
            raise _refused(entry, f"can't be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(value, self.kind):
            expected = f"{self.kind.__module__}.{self.kind.__qualname__}"
            raise _refused(entry, f"is a {type(value).__name__}, not a {expected}")
        return value

    def all(self) -> list[T]:
        """Load every entry: the library's own, then the others by their names."""
        return [self.load(entry) for entry in self.entries().values()]


@lru_cache(maxsize=32)
def _entries(group: ExtensionGroup[Any], path: tuple[str, ...]) -> Mapping[str, RegisteredEntry]:
    """The entries of a group on a path: the library's own, then the others by their names. `importlib.metadata` is
    imported here, as most programs don't need it."""
    entries = {name: RegisteredEntry(group.name, name, value) for name, value in group.own.items()}
    installed: Any = import_module("importlib.metadata").entry_points(group=group.name)
    for each in sorted(installed, key=lambda each: each.name):
        entry = RegisteredEntry(group.name, each.name, each.value, each.dist.name, each.dist.version)
        other = entries.setdefault(entry.name, entry)
        if other is not entry:
            raise NotConfigured(
                f"{entry} has the name of {other}",
                hint=f"Uninstall {entry.distribution}, or give its entry point another name.",
            )
    return entries


def _refused(entry: RegisteredEntry, problem: str) -> NotConfigured:
    name = entry.distribution
    hint = f"Update {name} or install what it needs; or uninstall it: python -m pip uninstall {name}."
    return NotConfigured(f"{entry} {problem}", hint=hint)
