"""Bounds: what one mutation may take, and what may wait: `class X(Document, bounds=Bounds(...))`.

A mutation that exceeds one is rejected. Without bounds, any client that may push one mutation could stop a document for
all clients, as every processor would run into it first, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from singletable.errors import DeclarationError


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a document's mutations may take, each. What a function allocates inside itself no bound can see."""

    seconds: float = 10.0
    """For the function to run. Reading contents and asking `authorise` doesn't count."""
    argument_bytes: int = 4 << 20
    """Of its arguments, as JSON."""
    result_bytes: int = 64 << 20
    """Of the contents that it assigns, as JSON. What it assigns twice counts twice."""
    changes: int = 50_000
    """Items that it assigns, refers to or deletes. An item that is changed twice counts twice."""

    unknown_seconds: float = 3600.0
    """For a mutation of a name that this program doesn't know to wait for a program that does; then it is rejected."""
    ahead: int = 1000
    """How far a client's ids may be ahead of its last one that was applied or rejected."""
    waiting: int = 400
    """In the inbox, when one comes that can't be applied at once: after a missing id, or of an unknown name."""
    gap_seconds: float = 86_400.0
    """For mutations to wait for a missing id before them; then `collect_garbage` takes them out of the inbox."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise DeclarationError(f"Bounds({field.name}={getattr(self, field.name)}); it is above 0")


UNBOUNDED = Bounds(seconds=3600.0, argument_bytes=1 << 62, result_bytes=1 << 62, changes=1 << 62)
"""Of the library's own mutations, which are as large as a document can be."""
