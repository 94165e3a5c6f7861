"""Preparation of a plan: what is known before items are read. The steps, and what a reading has to count."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import repeat
from typing import Any
from zlib import error as zlib_error

import msgspec
from msgspec import Struct

from singletable.errors import Corrupt
from singletable.flow import Port
from singletable.foundation import Table
from singletable.migrations.acceptance import Accepted, check_accepted, is_accepted
from singletable.migrations.apply_lease import read_record
from singletable.migrations.comparison import check_key, compare, creation, foreign_table
from singletable.migrations.item_counts import ItemCounts, unique_of
from singletable.migrations.model_document import ModelDocument, document_of, read_document
from singletable.migrations.needed import application_type
from singletable.migrations.steps import Compared, Live, Plan, Step
from singletable.operations import RAW, Scan, Selection
from singletable.tables import describe, live_settings, table_identity

_FIRST_LOOK, _NEXT_LOOK, _MORE_LOOKS = 100, 1000, 9
_FILL_TELLS = frozenset({"writes", "twice"})
"""The counts of what a fill meets again: it refuses a value that is twice, and names an item without a key."""
_KEPT_FORM = 2
"""The form of what is kept of a reading: raised with it."""
_Found = tuple[Plan, Live | None, Any]


class Prepared(Struct, frozen=True):
    """All that a plan knows before it reads items."""

    plan: Plan
    """Its steps, without what they take."""
    live: Live | None
    """None for a missing table."""
    record: Any
    reading: ItemCounts
    """The counts that it needs; nothing is counted yet."""
    document: ModelDocument

    @property
    def fills(self) -> Step | None:
        """The step whose prediction counts."""
        return next((step for step in self.plan.steps if step.counts), None)

    @property
    def counts_items(self) -> bool:
        """Whether the table is read to count its items."""
        return self.live is not None and (self.fills is not None or self.reading.is_needed)

    @property
    def refuses(self) -> bool:
        """Whether the plan may be refused for what is counted."""
        return self.fills is None or any(one.counts not in _FILL_TELLS for one in self.reading.differences)

    def work(self, options: tuple[Any, ...] = ()) -> str:
        """The same for readings of one table that count the same."""
        there, names = None, ("model", "packed", "toward", "brought_at", "fence")
        former = None if self.record is None else [getattr(self.record, name) for name in names]
        if self.live is not None:
            description = self.live.description
            indexes = {name: (each["KeySchema"], each["Projection"]) for name, each in description.indexes.items()}
            there = table_identity(description.raw), indexes
        counts = self.reading.whole, [difference.place for difference in self.reading.differences]
        facts = msgspec.json.encode((_KEPT_FORM, former, there, counts, options), order="sorted")
        return sha256(self.document.packed + facts).hexdigest()[:16]


async def prepare(port: Port, table: Table, accept: Accepted, purge: Sequence[str] = ()) -> Prepared:
    """Prepare a plan: all that it knows before it reads items. A few requests. PlanRefused; InvalidRequest for what
    can't be accepted."""
    plan, live, record = await compared_with_items(port, table, purge)
    reading = _reading(table, plan, live, record, accept)
    return Prepared(plan, live, record, reading, plan.document if plan.document is not None else document_of(table))


def _reading(table: Table, outlined: Plan, live: Live | None, record: Any, accept: Accepted) -> ItemCounts:
    """The counts that a plan needs: of differences that nobody accepted; of all items, if no record has whole forms."""
    check_accepted(accept)
    purged = [("class.removed", name) for name in outlined.purge]
    suspects = [one for one in outlined.differences if not is_accepted(one, (*accept, *purged))]
    former = documents_of(table, record)[0]
    if former is None:
        uniques = (unique_of(model, field) for model in table.models for field in model.uniques)
        suspects += [one for one in uniques if not is_accepted(one, accept)]
    return ItemCounts(table, suspects, whole=live is not None and (former is None or not former.is_whole))


async def compared_with_items(port: Port, table: Table, purge: Sequence[str] = ()) -> _Found:
    """Compare like `compared_with_live`. PlanRefused for a table without a record that holds another model's items."""
    compared = await compared_with_live(port, table, purge)
    if compared[1] is not None and compared[2] is None:
        await _refuse_foreign(port, table)
    return compared


async def compared_with_live(port: Port, table: Table, purge: Sequence[str] = ()) -> _Found:
    """The steps from a table to its declaration, the table, and its record; None for what is missing. PlanRefused."""
    definition = table.definition
    description = await describe(port, definition)
    if description is None:
        return creation(table), None, None
    check_key(table, description)
    settings = definition.settings
    recovery, tags = settings.point_in_time_recovery is not None, bool(settings.tags)
    live = Live(description, await live_settings(port, definition, description, recovery=recovery, tags=tags))
    record = await read_record(port, table)
    former, toward = documents_of(table, record)
    declared = document_of(table).with_known(former)
    return compare(Compared(table, declared, former, live, toward, tuple(dict.fromkeys(purge)))), live, record


def documents_of(table: Table, record: Any) -> tuple[ModelDocument | None, ModelDocument | None]:
    """The model that a table was last brought to, and the one that an apply has begun to bring it to."""
    if record is None:
        return None, None
    return document_in(table, record.packed or record.model), document_in(table, record.toward)


def document_in(table: Table, text: str | bytes | None) -> ModelDocument | None:
    try:
        return None if text is None else read_document(text)
    except (msgspec.MsgspecError, zlib_error) as error:
        raise Corrupt(
            "the record of the table's model can't be read: a newer version of the library may have written it",
            table=table.name,
            hint="Use that version.",
        ) from error


async def _refuse_foreign(port: Port, table: Table) -> None:
    """Raise PlanRefused if all items are of types that the program doesn't declare. One request; up to ten if the first
    items are the library's own, or of removed classes."""
    types: set[str] = set()
    after = None
    for limit in (_FIRST_LOOK, *repeat(_NEXT_LOOK, _MORE_LOOKS)):
        page = await port.send(Scan(table.name, Selection(limit=limit, after=after, consistent=True), RAW))
        names = {application_type(table, item) for item in page.items}
        types |= {name for name in names if name is not None}
        after = page.after
        if after is None or any(map(table.model_here, types)):
            break
    if types and not any(map(table.model_here, types)):
        raise foreign_table(table.name, sorted(types), "has items of")
