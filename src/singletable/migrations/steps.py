"""A plan: the ordered steps that bring a table to what its classes declare, each with what it will take."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from singletable.migrations.model_document import ModelDocument

StepKind = Literal["create table", "set", "add index", "fill", "drop index", "unset", "record"]


class Estimate(Struct, frozen=True):
    """The cost of a step, without looking at the table while waiting: it costs nothing, and depends on time."""

    items: int = 0
    """The items that it writes."""
    requests: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    seconds: float | None = None
    """At the given rate; None if no rate was given, or the service sets the pace."""
    dollars: float | None = None
    """The price; None if the region's prices are unknown."""


class Step(Struct, frozen=True):
    """One step of a plan."""

    kind: StepKind
    subject: str
    what: str
    """The work of the step, as a sentence."""
    online: bool = True
    """Whether every access pattern goes on as it was meanwhile."""
    takes: Estimate = Estimate()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its kind with its subject: `add index gsi1`."""
        return f"{self.kind} {self.subject}"


class Plan(Struct, frozen=True):
    """The work of an apply on one table."""

    table: str
    steps: tuple[Step, ...]
    left: tuple[str, ...] = ()
    """The differences from the declaration that stay, each with its reason."""
    unsupported: tuple[str, ...] = ()
    """Declared settings that the engine doesn't have."""
    document: ModelDocument | None = None
    """The declaration that it brings the table to."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps


class Done(Struct, frozen=True):
    """The cost of a finished step."""

    step: Step
    requests: int
    """Without `looks`, and without those of the lease."""
    read_units: float
    write_units: float
    seconds: float
    looks: int = 0
    """Requests that only looked at the table, as while waiting for it. They cost nothing."""


class Outcome(Struct, frozen=True):
    """The result of an apply."""

    table: str
    done: tuple[Done, ...] = ()
    unreadable: tuple[Any, ...] = ()
    """Findings of a fill: items that their class can't read, left unchanged."""
    unknown: int = 0
    """Items of a type that the program doesn't declare, left unchanged."""
    lease_requests: int = 0
    lease_units: float = 0.0


class Doing(Struct, frozen=True):
    """The position of an apply."""

    step: Step
    number: int
    """From 1."""
    of: int
    said: str = ""
    done: int = 0
    """Items, of `total`."""
    total: int = 0
