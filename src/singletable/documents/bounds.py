"""Bounds: the limits of one mutation, and of the mutations that wait: `class X(Document, bounds=Bounds(...))`.

A mutation that exceeds a bound is rejected. Without bounds, one mutation of one client could stop a document for all
clients, because every processor would run it first, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from singletable.errors import DeclarationError


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The limits of each mutation of a document. Memory that a function allocates for itself can't be limited."""

    seconds: float = 10.0
    """The time that the function may run. Reading contents and calling `authorise` doesn't count."""
    argument_bytes: int = 4 << 20
    """The size of its arguments, as JSON."""
    result_bytes: int = 64 << 20
    """The size of the contents that it assigns, as JSON. An item that is assigned twice counts twice."""
    changes: int = 50_000
    """The number of items that it assigns, refers to or deletes. An item that is changed twice counts twice."""

    unknown_seconds: float = 3600.0
    """The time that a mutation with an unknown name waits for a program that knows it. Then it is rejected."""
    ahead: int = 1000
    """The most that a client's id may be ahead of its last one that was applied or rejected."""
    waiting: int = 400
    """The mutations that may be in the inbox when one arrives that can't be applied yet: after a missing id, or with an
    unknown name."""
    gap_seconds: float = 86_400.0
    """The time that mutations wait for a missing id before them. Then `collect_garbage` removes them from the inbox."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise DeclarationError(f"Bounds({field.name}={getattr(self, field.name)}); it is above 0")


UNBOUNDED = Bounds(seconds=3600.0, argument_bytes=1 << 62, result_bytes=1 << 62, changes=1 << 62)
"""The bounds of the library's own mutations, which can be as large as a document."""
