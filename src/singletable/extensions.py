"""Extensions: the parts that layers, and other distributions, add to the library's tools, by entry points.

A tool owns a group: its name, the type of its entries, and the library's own entries. Those of other distributions are
found in their metadata:

    [project.entry-points."singletable.commands"]
    audit = "shop_audit.commands:audit"

* An entry is imported when it is loaded, and not before: a list of names imports nothing.
* A name is one entry's. The library's own entries are found first, without a search of the installed distributions.
* Each error names the entry point, its group and its distribution. A broken entry breaks what needs it, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from singletable.errors import NotConfigured

T = TypeVar("T")


@dataclass(frozen=True)
class ExtensionGroup(Generic[T]):
    """A group of entry points that a tool loads. `own` has the library's entries: names, each with MODULE:ATTRIBUTE."""

    name: str
    kind: type[T]
    own: Mapping[str, str]

    def entries(self) -> Mapping[str, EntryPoint]:
        """Every entry by its name. Raises NotConfigured if two have the same name."""
        entries = {name: self._own(name) for name in self.own}
        for entry in entry_points(group=self.name):
            other = entries.setdefault(entry.name, entry)
            if other is not entry:
                raise NotConfigured(
                    f"{self._told(entry)} has the name of {self._told(other)}",
                    hint=f"Uninstall {_distribution(entry)}, or give its entry point another name.",
                )
        return entries

    def entry(self, name: str) -> EntryPoint | None:
        """The entry of a name; None if it is missing."""
        return self._own(name) if name in self.own else self.entries().get(name)

    def load(self, entry: EntryPoint) -> T:
        """Load an entry. Raises NotConfigured if another distribution's can't be imported, or has another type."""
        try:
            value = entry.load()
        except Exception as error:
            if entry.dist is None:
                raise
            raise self._refused(entry, f"can't be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(value, self.kind):
            expected = f"{self.kind.__module__}.{self.kind.__qualname__}"
            raise self._refused(entry, f"is a {type(value).__name__}, not a {expected}")
        return value

    def all(self) -> list[T]:
        """Load every entry: the library's own, then the others by their names."""
        return [self.load(entry) for entry in self.entries().values()]

    def _own(self, name: str) -> EntryPoint:
        return EntryPoint(name, self.own[name], self.name)

    def _refused(self, entry: EntryPoint, problem: str) -> NotConfigured:
        distribution = _distribution(entry)
        hint = (
            f"Update {distribution} or install what it needs; or uninstall it: python -m pip uninstall {distribution}."
        )
        return NotConfigured(f"{self._told(entry)} {problem}", hint=hint)

    def _told(self, entry: EntryPoint) -> str:
        version = f" {entry.dist.version}" if entry.dist is not None else ""
        return f"the entry point {entry.name} = {entry.value!r} of {_distribution(entry)}{version} ({self.name})"


def _distribution(entry: EntryPoint) -> str:
    return "singletable" if entry.dist is None else entry.dist.name
