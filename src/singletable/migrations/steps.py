"""A plan: the ordered steps that bring a table to what its classes declare, each with what it will take.

**A kind of step is a class**, in a module of `step_kinds`, that says where it is needed, and then of one step

    needed     which steps of the kind a comparison of declaration, record and live table needs, and in which phase
    describe   what it does, and what programs notice
    predict    what it takes; nothing, where reading the table shows that it is needless
    run        does it, under the lease. It is done again after a kill, so it looks for what is done already

Nothing else knows a kind: a comparison asks each for its steps, a plan for what they take, an apply runs them. The way
back from a plan is the plan of the former declaration: only the live table tells what that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, auto
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Port, Rate
from singletable.foundation import ScanSegment, Table
from singletable.migrations.apply_lease import Held
from singletable.migrations.kept_counts import CountsFile
from singletable.migrations.model_document import ModelDocument
from singletable.migrations.rules import ModelDifference
from singletable.tables import Description, LiveSettings


class Live(Struct, frozen=True):
    """A live table."""

    description: Description
    settings: LiveSettings


class Compared(Struct, frozen=True):
    """A declaration, the model that the table was last brought to, and the live table."""

    table: Table
    declared: ModelDocument
    record: ModelDocument | None
    live: Live
    toward: ModelDocument | None = None
    """The model that an apply has begun to rewrite items for, and has not ended."""
    purge: tuple[str, ...] = ()
    """The classes and indexes whose remains a person asked to delete."""

    @property
    def former(self) -> tuple[ModelDocument, ...]:
        """The models that items may be written by."""
        return tuple(document for document in (self.record, self.toward) if document is not None)


class StepPhase(IntEnum):
    """When a step is done: settings that only add; indexes, one at a time; items; what is taken away; the record."""

    SETTINGS = auto()
    ROOM = auto()
    """Steps that take something away first, as the table would have too many indexes."""
    INDEXES = auto()
    ITEMS = auto()
    OLD_INDEXES = auto()
    OLD_SETTINGS = auto()
    REMAINS = auto()
    RECORD = auto()


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


class StepPrediction(Struct, frozen=True):
    """The cost of a step; None for a needless one. `left` has the parts that stay, each with its reason."""

    takes: Estimate | None
    left: tuple[str, ...] = ()
    record: Any = None
    """The record as the step leaves it, where it writes one before the end."""
    declared: ModelDocument | None = None
    """The model as the step leaves it, for the record."""


class Planning(Struct, frozen=True):
    """The facts from which a step predicts its cost."""

    port: Port
    table: Table
    declared: ModelDocument
    record: Any
    """The stored form; None before the first apply."""
    live: Live | None
    segments: int
    sample: float | None
    kept: CountsFile
    """Counts the items that the prediction reads, and keeps its progress."""
    is_exported: bool = False
    """Whether the items are those of an export: then they are compared with nothing else."""
    is_divided: bool = False
    """Whether several processes read parts of the table."""

    def is_proof(self, kept: CountsFile) -> bool:
        """Whether the counts are of every item as it is now: then a step that nothing needs is left out."""
        return self.sample is None and not kept.is_taken and not self.is_exported


@dataclass(eq=False)
class Applying:
    """The tools of a step, and its findings."""

    port: Port
    """Under the lease."""
    bare: Port
    table: Table
    held: Held
    by: str
    rate: Rate | None
    segments: int | None
    document: ModelDocument
    """The model that the table is brought to."""
    record: Any
    """The stored form; None before the first apply."""
    tell: Callable[..., None]
    """Reports the progress of the step: `said`, `done`, `total`."""
    unreadable: tuple[Any, ...] = ()
    unknown: int = 0


class Step(Struct, frozen=True, tag_field="kind"):
    """One step of a plan."""

    subject: str
    what: str
    """The work of the step, as a sentence."""
    online: bool = True
    """Whether every access pattern works unchanged meanwhile."""
    takes: Estimate = Estimate()
    notes: tuple[str, ...] = ()
    """The effects on programs, and further notes."""

    is_optional: ClassVar[bool] = False
    """Whether a plan may lack it because it was needless then."""
    is_recorded: ClassVar[bool] = True
    """Whether the record has to be written after it."""
    counts: ClassVar[bool] = False
    """Whether its prediction counts the items that a declaration can't read."""
    reads: ClassVar[str | None] = None
    """The name of the reading of all items by which it is predicted: "" for the one that counts; None for none."""
    makes_table: ClassVar[bool] = False
    """Whether it makes the table, and so is done before there can be a lease."""

    @property
    def kind(self) -> str:
        """The kind of the step: `add index`."""
        return str(self.__struct_config__.tag)

    @property
    def name(self) -> str:
        """Its kind with its subject: `add index gsi1`."""
        return f"{self.kind} {self.subject}"

    @classmethod
    def needed(cls, compared: Compared) -> Iterator[tuple[StepPhase, Step]]:
        """The steps that a live table needs."""
        yield from ()

    def describe(self) -> tuple[str, ...]:
        """The work of the step, and its effects on programs, as sentences."""
        return self.what, *self.notes

    def reading(self, planning: Planning, segments: Sequence[ScanSegment]) -> Any:
        """The reading of segments that counts the items: a `ResumableRun`."""
        raise NotImplementedError(self.name)

    async def predict(self, planning: Planning) -> StepPrediction:
        """The cost of the step, without time and money."""
        return StepPrediction(Estimate(requests=1))

    async def run(self, applying: Applying) -> None:
        """Do it, or what an earlier apply left of it."""
        raise NotImplementedError(self.name)


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
    differences: tuple[ModelDifference, ...] = ()
    """The differences from the models before, each with its rule."""
    accepted: tuple[str, ...] = ()
    """Accepted differences, which would be refused: `type.changed Order.total`."""
    purge: tuple[str, ...] = ()
    """The classes and indexes whose remains it deletes."""
    is_sample: bool = False
    """Whether only a part of the table was read: an apply reads the rest."""
    counted_at: datetime | None = None
    """When the items were counted, by an earlier plan; None if they were counted now, or nothing had to be."""
    as_of: datetime | None = None
    """The moment of the export whose items were counted: an apply reads the table. None if the table was read."""

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

    def also(self, done: Done) -> Outcome:
        """The same with one step more."""
        return replace(self, done=(*self.done, done))


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
