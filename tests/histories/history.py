"""What clients did and saw: transactions of appends and reads, with the moments between which each was under way.

Each append adds a value of its own to the list under a key, so a read shows which appends came before it, in order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

NEVER = math.inf


class Status(Enum):
    DONE = "done"
    FAILED = "failed"
    """Certainly not applied."""
    UNKNOWN = "unknown"
    """It may have been applied, or may be later."""


@dataclass(frozen=True)
class Append:
    key: str
    value: int


@dataclass(frozen=True)
class Read:
    key: str
    values: tuple[int, ...]


@dataclass
class Transaction:
    """All of its operations are to take effect at one moment between `began` and `ended`."""

    client: str
    began: float
    ended: float = NEVER
    status: Status = Status.UNKNOWN
    operations: list[Append | Read] = field(default_factory=list[Append | Read])

    @property
    def appends(self) -> list[Append]:
        return [each for each in self.operations if isinstance(each, Append)]

    @property
    def reads(self) -> list[Read]:
        return [each for each in self.operations if isinstance(each, Read)]

    def __str__(self) -> str:
        said = ", ".join(
            f"{each.key}+{each.value}" if isinstance(each, Append) else f"{each.key}={list(each.values)}"
            for each in self.operations
        )
        return f"{self.client}@{self.began:.0f}[{said}]"
