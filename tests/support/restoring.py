"""A table as a backup brings it back: parts of a transaction may be in it, and the others not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

from singletable import Database, Table
from singletable.operations import batch_write
from tests.support.raw import all_items

Place = tuple[str, ...]
Items = Mapping[Place, dict[str, Any]]


def items_in(db: Database, table: Table) -> Items:
    """Every item of a table, by its key."""
    names = table.definition.key
    return {tuple(item[name]["S"] for name in names): item for item in db.run(all_items(db.port, table.name))}


def halves(before: Items, after: Items) -> Iterator[Items]:
    """The table with some of the items as they were before, and the others as they are after; never all of one."""
    changed = sorted(place for place in {**before, **after} if before.get(place) != after.get(place))
    for count in range(1, len(changed)):
        for part in combinations(changed, count):
            kept = {place: item for place, item in before.items() if place not in part}
            yield kept | {place: after[place] for place in part if place in after}


def restore(db: Database, table: Table, wanted: Items) -> None:
    """Make a table hold these items and no others."""
    there = items_in(db, table)
    names = table.definition.key
    puts = [item for place, item in wanted.items() if there.get(place) != item]
    deletes = [{name: there[place][name] for name in names} for place in there if place not in wanted]
    db.run(db.port.send(batch_write(table.name, puts, deletes)))


def unnoticed(db: Database, table: Table, act: Callable[[], object], check: Callable[[], object]) -> tuple[int, int]:
    """How many halves of the transaction that an act sends there are, and how many of them a check says nothing of.

    The act's own result stays in the table.
    """
    before = items_in(db, table)
    act()
    after = items_in(db, table)
    found = missed = 0
    for half in halves(before, after):
        restore(db, table, half)
        found += 1
        missed += not check()
    if found:
        restore(db, table, after)
    return found, missed
