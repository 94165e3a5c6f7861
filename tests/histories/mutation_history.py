"""What clients of one document did and saw: mutations that they made and pushed, views that they pulled, outcomes.

The document keeps a digest of all that was applied to it, in order, so a state says which mutations led to it, and in
which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from tests.histories.history import NEVER, Status


class Name(NamedTuple):
    """A client's numbered mutation."""

    client: str
    id: int

    def __str__(self) -> str:
        return f"{self.client}:{self.id}"


@dataclass(frozen=True)
class Made:
    """A mutation as its client made it. `cell` is what it writes; None for one that is always rejected."""

    began: float
    """When it was first sent."""
    cell: str | None


@dataclass(frozen=True)
class State:
    """A document: how many mutations were applied, the digest of their order, and each cell's last writer."""

    count: int = 0
    digest: str = ""
    cells: Mapping[str, str] = field(default_factory=dict[str, str])

    def after(self, name: Name, made: Made) -> State:
        """The state after one mutation more."""
        if made.cell is None:
            return self
        return State(self.count + 1, fold(self.digest, str(name)), {**self.cells, made.cell: str(name)})


def fold(digest: str, tag: str) -> str:
    """The digest of an order that goes on with a mutation."""
    return sha256(f"{digest} {tag}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Pushed:
    """A push, as its client saw it. One that is done is durable."""

    names: tuple[Name, ...]
    began: float
    ended: float = NEVER
    status: Status = Status.UNKNOWN


@dataclass(frozen=True)
class Pulled:
    """What a client has after a pull: a version, its state, and the last ids of the clients of its group."""

    client: str
    began: float
    ended: float
    version: int
    state: State
    last_ids: Mapping[str, int]


@dataclass(frozen=True)
class Settled:
    """An outcome that a processor returned."""

    name: Name
    began: float
    ended: float
    version: int | None
    rejected: bool


@dataclass(frozen=True)
class Entry:
    """A mutation in the list of a version."""

    name: Name
    rejected: bool = False


@dataclass
class DocumentHistory:
    """All of one document. `versions` are those from 1 on, as they are there in the end."""

    made: dict[Name, Made] = field(default_factory=dict[Name, Made])
    pushes: list[Pushed] = field(default_factory=list[Pushed])
    pulls: list[Pulled] = field(default_factory=list[Pulled])
    outcomes: list[Settled] = field(default_factory=list[Settled])
    versions: list[list[Entry]] = field(default_factory=list[list[Entry]])
