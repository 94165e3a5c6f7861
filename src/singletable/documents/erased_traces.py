"""The traces of persons in one family of documents, as an erasure finds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from singletable.documents.contents import Content


@dataclass(eq=False)
class Traces:
    """The places of a family at which the erased persons are."""

    records: int = 0
    """Mutations with them as principal, or in whose arguments they are."""
    versions: int = 0
    contents: dict[Content, tuple[Content, bytes]] = field(default_factory=dict[Content, tuple[Content, bytes]])
    """The contents to replace, each with its new one."""
    unreadable: int = 0
    """Contents that could not be looked at."""

    def __bool__(self) -> bool:
        return bool(self.records or self.versions or self.contents)

    @property
    def write_units(self) -> float:
        """The units of the change, at least: larger items, and versions of collections, take more."""
        return 2.0 * (self.records + self.versions)

    def __str__(self) -> str:
        counts = {"mutations": self.records, "versions": self.versions, "contents": len(self.contents)}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count)
