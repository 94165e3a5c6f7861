"""The events of the studio: what was refused, what failed, and who wrote what."""

from __future__ import annotations

from typing import ClassVar

from singletable.events.event import Event, Problem, described


class PageRefused(Problem, frozen=True, kw_only=True):
    """A request to the studio was refused; at INFO if its sender is not signed in."""

    logger: ClassVar[str] = "singletable.studio"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "WARNING")

    method: str
    page: str
    """The first part of its path: the rest may hold a key."""
    status: int
    why: str
    user: str = ""

    @property
    def level(self) -> int:
        return 20 if self.status == 401 else 30

    @property
    def text(self) -> str:
        by = f"{self.user}: " if self.user else ""
        return f"{by}{self.method} {self.page!r} was refused: {self.status} {self.why}"


class PageFailed(Problem, frozen=True, kw_only=True):
    """A page of the studio failed: this is a defect of the studio."""

    logger: ClassVar[str] = "singletable.studio"
    levels: ClassVar[tuple[str, ...]] = ("ERROR",)

    error: Exception

    @property
    def text(self) -> str:
        return f"a page failed with {described(self.error)}"


class ItemWritten(Event, frozen=True, kw_only=True):
    """A user of the studio wrote an item."""

    logger: ClassVar[str] = "singletable.studio"
    levels: ClassVar[tuple[str, ...]] = ("INFO",)

    user: str
    action: str
    table: str
    entity: str
    key_hash: str

    @property
    def text(self) -> str:
        return f"{self.user}: {self.action} {self.entity} ({self.key_hash}) in table {self.table}"
