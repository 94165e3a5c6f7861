"""Gaps: what a class declares and its items lack outside of themselves, because they were written before it did.

A guard of each unique value, the copies of another entity's attributes, and a layer's sets and counters. They are found
by the functions of `check`, and written by those of its repairs: each on condition of everything that it was decided
from. Guards and copies are the exception in form: those of all items of a page are sent together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import (
    DECLARED,
    Consumed,
    Operation,
    Port,
    Race,
    Request,
    Response,
    TableNames,
    Traits,
    WrappedPort,
    patiently,
)
from singletable.operations import Item, ReasonedCancellation, TransactAction, TransactWriteItems
from singletable.records.check import items_of, partners
from singletable.records.check_passes import ItemCheck, ItemPass, items_at, type_in
from singletable.records.conditions import CHANGED
from singletable.records.copies import copies_of
from singletable.records.copy_gaps import write_copies
from singletable.records.findings import Finding
from singletable.records.readers import Place, place_in
from singletable.records.repairs import guard_writes
from singletable.schema import OWNER, OWNER_SORT, Table, covered_place

T = TypeVar("T")
_SETS = frozenset({"edge-set.wrong", "edge-set.twice", "edge-set.incomplete", "edge-set.count"})
GUARD, TAKEN, COPY = "guard.missing", "guard.taken", "copy.behind"
_ATTACHED = frozenset({GUARD, "word.missing"})
FILLED = frozenset({COPY}) | _ATTACHED | _SETS


class GapsFilled(Struct, frozen=True):
    """The outcome for the gaps of some items."""

    written: int = 0
    """Items that lack nothing any more."""
    contended: int = 0
    """Items that other writers changed each of 20 times."""
    left: tuple[Finding, ...] = ()
    """The gaps that can't be filled: `guard.taken`, if another item has the value; and ones that a person decides."""


def gaps_of(table: Table) -> ItemPass | None:
    """The pass that finds the gaps of a table's items; None if they can't have any."""
    has_gaps = table.checks() is not None or any(model.has_claims or copies_of(model) for model in table.models)
    return items_of(table) if has_gaps else None


async def find_gaps(port: Port, checks: ItemPass, items: Sequence[Item]) -> list[Finding]:
    """The gaps of items. Reads the guards of their unique values, the sources of their copies, a node's edges."""
    at_once, findings = _AtOnce(port), list[Finding]()
    for check in checks.checks:
        if FILLED & check.repairs and (own := _with_gaps(checks.table, check, items)):
            findings += [each for each in await check.findings(at_once, own) if each.code in FILLED]
    return list(dict.fromkeys(findings))


async def fill_gaps(port: Port, checks: ItemPass, items: Sequence[Item]) -> GapsFilled:
    """Write what these items lack. Takes what `find_gaps` takes, and for each item with a gap a transaction, or what
    its repair takes. Every request may be repeated, so a table that is throttled is waited for."""
    table, left = checks.table, dict[Place, Finding]()
    written, again = set[Place](), list(items)
    race, goes_on = Race(port, "fill", CHANGED, table.name), True
    while again and goes_on:
        by_place = {place_in(table, item): item for item in again}
        gaps = await patiently(port, partial(find_gaps, port, checks, again))
        gaps = [each for each in gaps if each.key in by_place and each.key not in left]
        firsts = {each.key: each for each in reversed(gaps)}  # one write often ends an item's other findings too
        outcomes = await _put_guards(port, table, [by_place[p] for p, each in firsts.items() if each.code in _ATTACHED])
        outcomes |= await write_copies(port, table, [by_place[p] for p, each in firsts.items() if each.code == COPY])
        for finding in firsts.values():
            if finding.code not in _ATTACHED and finding.key not in outcomes:
                mend = partial(_mend, port, checks, by_place[finding.key], finding)
                outcomes[finding.key] = await patiently(port, mend)
        seconds = {each.key for each in gaps if each is not firsts[each.key]}
        outcomes |= dict.fromkeys((place for place in seconds if outcomes.get(place) is True), False)
        left |= {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Finding)}
        written |= outcomes.keys() - left.keys()
        seen_again = [place for place, outcome in outcomes.items() if outcome is False]
        goes_on = not seen_again or await race.goes_on()
        again = list((await patiently(port, partial(items_at, port, table, seen_again))).values())
    contended = {place_in(table, item) for item in again}
    return GapsFilled(len(written - contended), len(contended), tuple(left.values()))


def guards_sent(table: Table, item: Item, now: float) -> Sequence[TransactAction]:
    """The transaction that puts an item's guards and words: a condition on it, and a put for each."""
    model = table.model_of_type(type_in(table, item))
    return [] if model is None else [write.action for write in guard_writes(model, item, model.uniques, now)]


async def _put_guards(port: Port, table: Table, items: Sequence[Item]) -> dict[Place, bool | Finding]:
    """Put guards. Returns by item: True with its guards, False if it must be checked again, or the finding."""
    sent = [(item, guards_sent(table, item, port.now())) for item in items]
    tried = [_TryGuards(table, item, actions) for item, actions in sent if actions]
    outcomes = await patiently(port, partial(port.send_all, tried))
    return {place_in(table, each.item): outcome for each, outcome in zip(tried, outcomes, strict=True)}


async def _mend(port: Port, checks: ItemPass, item: Item, finding: Finding) -> bool | Finding:
    """Write a repair. Returns False if it was written: the item is checked again; else the finding."""
    for check in checks.checks:
        if finding.code in check.repairs and (mend := await check.repair(port, item, finding)) is not None:
            await mend.apply(port)
            return False
    return finding


def _with_gaps(table: Table, check: ItemCheck, items: Iterable[Item]) -> list[Item]:
    """The items that the check may find a gap in."""
    if _SETS & check.repairs:
        return list(items)
    lacking: list[Item] = []
    for item in items:
        model = table.model_of_type(type_in(table, item))
        if model is not None and (copies_of(model) or any(True for _ in partners(table, item))):
            lacking.append(item)
    return lacking


class _AtOnce(WrappedPort):
    """A port over which no finding is waited for: what only lags behind is brought up to date as well."""

    @property
    def traits(self) -> Traits:
        return replace(self._port.traits, index_lag_seconds=0.0)

    async def send(self, operation: Operation[T]) -> T:
        return await self._port.send(operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return await self._port.send_all(operations)


class _TryGuards(Struct, frozen=True):
    """The guards of one item: True if they are put, False if the item has changed, else the owner of the value.

    It may be repeated: a guard that is the item's already is put again.
    """

    table: Table
    item: Item
    actions: Sequence[TransactAction]

    def request(self, names: TableNames = DECLARED) -> Request:
        return self._transaction.request(names)

    def answer(self, response: Response) -> tuple[bool | Finding, Consumed]:
        try:
            _, consumed = self._transaction.answer(response)
        except ReasonedCancellation as cancelled:
            return self._outcome(cancelled), Consumed()
        return True, consumed

    @property
    def _transaction(self) -> TransactWriteItems:
        return TransactWriteItems(self.actions)

    def _outcome(self, cancelled: ReasonedCancellation) -> bool | Finding:
        own, *guards = cancelled.reasons
        if own.code == "ConditionalCheckFailed":
            return False
        for reason in guards:
            if reason.code == "ConditionalCheckFailed":
                type_name = type_in(self.table, self.item)
                what = _taken_by(self.table, type_name, reason.stored)
                return Finding(TAKEN, what, type_name, place_in(self.table, self.item))
        return False


def _taken_by(table: Table, type_name: str, guard: Any) -> str:
    """The text of a finding, with the other's key without personal parts: it is printed unchanged."""
    what = "another item has one of its unique values"
    if not guard:
        return what
    owner = guard[OWNER]["S"], guard[OWNER_SORT]["S"]
    return f"{what}: {' / '.join(covered_place(table, type_name, owner))}"
