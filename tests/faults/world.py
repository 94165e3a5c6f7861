"""A model of a table that several writers change under faults: what each write has to do, and may say.

`World` sends a write through one of its writers and holds what came of it against the model: done exactly once, or
refused for the reason that the model gives, or of unknown outcome where that is allowed, and then done once or not at
all. The model is read and judged through a database without faults.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from singletable import (
    AlreadyExists,
    Entity,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    SingletableError,
    Unavailable,
    VersionMoved,
    key_of,
)
from singletable.errors import TransactionConflict
from singletable.schema.models import model_for
from tests.faults.clock import Clock
from tests.faults.opening import findings
from tests.rules.models import Counted, Named, Passing, Plain, Ranked, Session, shop
from tests.support.raw import stored
from tests.support.shells import Shell

KINDS: tuple[type[Any], ...] = (Plain, Ranked, Counted, Named, Passing, Session)
EXPIRING = (Passing, Session)
COUNTED = (Counted, Session)
UNIQUE = {Named: ("email", "nick"), Session: ("token",)}
Place = tuple[type[Any], str]
Act = Callable[[Shell], Awaitable[Any]]


@dataclass(frozen=True)
class Verdict:
    """What the model says of a write: the items as they are to be, or the errors that it has to end with."""

    after: dict[Place, Any] = field(default_factory=dict[Place, Any])
    errors: tuple[type[SingletableError], ...] = ()


@dataclass
class World:
    """The model, the writers under faults, and a judge without."""

    writers: Sequence[Shell]
    judge: Shell
    clock: Clock
    items: dict[Place, Any] = field(default_factory=dict[Place, Any])
    """Every item as it is stored, expired ones too."""
    copies: dict[tuple[int, Place], Any] = field(default_factory=dict[tuple[int, Place], Any])
    """What each writer has read, and may be out of date by now."""
    unknown: set[str] = field(default_factory=set[str])
    """The verbs that did not know their outcome."""
    overtaken: tuple[type[Any], ...] = ()
    """Classes whose items seem to be written by another right after each read: the model reads those by the judge."""
    refused: int = 0
    """Writes that were refused, as the model says."""
    undone: int = 0
    """Writes that were given up, with nothing done."""

    # --- writes -------------------------------------------------------------------------------------------------------
    async def attempt(self, verb: str, act: Act, verdict: Verdict, *, may_be_unknown: bool, writer: int) -> None:
        """Send a write and hold what came of it against the verdict."""
        before = dict(self.items)
        try:
            await act(self.writers[writer])
        except OutcomeUnknown:
            assert may_be_unknown, f"{verb} is of unknown outcome"
            self.unknown.add(verb)
            if verdict.after and await self._stored(next(iter(verdict.after))) != before.get(next(iter(verdict.after))):
                self.items |= verdict.after
        except verdict.errors:
            self.refused += 1
        except (Unavailable, TransactionConflict):
            self.undone += 1
        except SingletableError as error:
            error.add_note(f"the model says: {[e.__name__ for e in verdict.errors] or 'done'}, of {verb}")
            raise
        else:
            assert not verdict.errors, f"{verb} was done, and had to end with {verdict.errors}"
            self.items |= verdict.after
        for place in verdict.after:
            assert await self._stored(place) == self.items.get(place), f"{verb}: {place[0].__name__}"

    async def _stored(self, place: Place) -> Any:
        kind, id = place
        item = await stored(self.judge.port, kind.by_id(id))
        return None if item is None else kind.__model__.load(item)

    # --- reads --------------------------------------------------------------------------------------------------------
    async def read(self, place: Place, writer: int) -> None:
        """A writer reads an item, and keeps what it read."""
        kind, id = place
        shell = self.judge if kind in self.overtaken else self.writers[writer]
        found = await shell.get(kind.by_id(id).consistent())
        assert found == self.alive(place)
        self.copies[writer, place] = found

    async def read_index(self, writer: int) -> None:
        """Queries of the indexes give what the items' attributes say."""
        shell = self.writers[writer]
        for phone in ("12", "34"):
            plain = [e for (kind, _), e in self.items.items() if kind is Plain and e is not None and e.phone == phone]
            assert _by_id(await shell.all(Plain.by_phone(phone))) == _by_id(plain)
        for group in ("a", "b"):
            ranked = [e for (kind, _), e in self.items.items() if kind is Ranked and e is not None and e.group == group]
            assert await shell.all(Ranked.by_group(group)) == sorted(ranked, key=lambda e: (e.rank, e.id))

    def alive(self, place: Place) -> Any:
        """The item, where there is one that has not expired."""
        entity = self.items.get(place)
        return None if entity is None or self.is_expired(entity) else entity

    def is_expired(self, entity: Any) -> bool:
        ends = getattr(entity, "ends", None)
        return ends is not None and ends.timestamp() <= self.clock.at

    # --- what the rules say -------------------------------------------------------------------------------------------
    def create(self, entity: Any) -> Verdict:
        if self.alive(_place(entity)) is not None:
            return Verdict(errors=(AlreadyExists,))
        return self._written(_counted(entity, 1))

    def put(self, entity: Any) -> Verdict:
        old = self.items.get(_place(entity))
        count = getattr(entity, "revision", None)
        if count is not None:
            allowed = {0} if old is None else {old.revision} | ({0} if self.is_expired(old) else set())
            if count not in allowed:
                return Verdict(errors=(VersionMoved,))
        return self._written(_counted(entity, (count or 0) + 1))

    def upsert(self, entity: Any) -> Verdict:
        old = self.alive(_place(entity))
        return self._written(_counted(entity, (0 if old is None else getattr(old, "revision", 0)) + 1))

    def update(self, place: Place, changes: dict[str, Any], expected: int | None = None) -> Verdict:
        old = self.alive(place)
        if old is None:
            return Verdict(errors=(NotFound,))
        if expected is not None and old.revision != expected:
            return Verdict(errors=(VersionMoved,))
        return self._written(_counted(replace(old, **changes), getattr(old, "revision", 0) + 1))

    def delete(self, place: Place, expected: int | None = None) -> Verdict:
        old = self.alive(place)
        if expected is None:
            return Verdict({place: None})
        if old is None:
            return Verdict()
        return Verdict(errors=(VersionMoved,)) if old.revision != expected else Verdict({place: None})

    def _written(self, entity: Any) -> Verdict:
        place = _place(entity)
        return Verdict(errors=(NotUnique,)) if self.clashes({place: entity}) else Verdict({place: entity})

    def clashes(self, after: dict[Place, Any]) -> bool:
        """Whether two living items would share a unique value."""
        items = {place: e for place, e in (self.items | after).items() if e is not None and not self.is_expired(e)}
        # What is written counts even when it has expired at once: its guard is taken first.
        items |= {place: e for place, e in after.items() if e is not None}
        values = [
            (kind, name, getattr(entity, name))
            for (kind, _), entity in items.items()
            for name in UNIQUE.get(kind, ())
            if getattr(entity, name) is not None
        ]
        return len(values) != len(set(values))

    # --- the end ------------------------------------------------------------------------------------------------------
    async def hold(self) -> None:
        """Every item is as the model has it, and nothing else is wrong."""
        for place in self.items:
            assert await self._stored(place) == self.items[place]
        assert await findings(self.judge, shop) == []


def ends_at(clock: Clock, plus_seconds: int) -> datetime:
    return datetime.fromtimestamp(int(clock.at) + plus_seconds, timezone.utc)


def _counted(entity: Any, count: int) -> Any:
    return replace(entity, revision=count) if isinstance(entity, COUNTED) else replace(entity)


def _place(entity: Entity) -> Place:
    return type(entity), model_for(entity).key_values(key_of(entity))["id"]


def _by_id(entities: Sequence[Any]) -> list[Any]:
    return sorted(entities, key=lambda e: e.id)
