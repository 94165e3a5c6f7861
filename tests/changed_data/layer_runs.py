"""Runs of a drawn change of documents and tasks on data: the old program stores them, the new one goes on with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from obstore.store import MemoryStore

from singletable import Database
from singletable.documents import Documents, ObjectBlobs
from singletable.errors import InvalidValue
from singletable.migrations import Counted, Migrations, PlanRefused
from singletable.tasks import TaskWorker
from tests.changed_data.stored import items_of
from tests.changes.layer_laws import LayerCase, layer_cases
from tests.changes.layered import LayerPart, LayerProgram
from tests.changes.oracle import is_read_alike, reading
from tests.support.engines import fresh


@dataclass(frozen=True)
class StoredLayers:
    """What the old program stored: the readings of each place, in the order of the values."""

    readings: Mapping[str, Sequence[Mapping[str, Any]]]


def broken(seed: int) -> list[str]:
    """The broken laws of one drawn change, each with what repeats it."""
    with fresh() as db:
        case = next(layer_cases(seed, 1))
        return [f"python -m tests.changed_data.layer_runs {seed}: {text}" for text in _broken(db, case)]


def _broken(db: Database, case: LayerCase) -> Iterator[str]:
    blobs = ObjectBlobs(MemoryStore())
    stored = _store(db, case.old, blobs)
    try:
        plan = Migrations(db, case.new.table).plan()
    except PlanRefused as refused:
        yield from _wrong_counts(db, refused.counted)
        return
    Migrations(db, case.new.table).apply(plan)
    yield from _broken_after(db, case, stored, blobs)


def _store(db: Database, old: LayerProgram, blobs: Any) -> StoredLayers:
    """A document with an item and a mutation that waits, and a task, of each of the values that are not refused."""
    Migrations(db, old.table).apply()
    documents = Documents(db, old.board, blobs=blobs)
    scalars, content, mutation, task = old.parts.values()
    kept: dict[str, list[Mapping[str, Any]]] = {name: [] for name in old.parts}
    for number, (one, item, arguments, its) in enumerate(_accepted(scalars, content, mutation, task)):
        documents.create("o", f"b{number}", **vars(one))
        documents.apply(f"b{number}", [old.put(item=item).by("c", 1)])
        documents.submit(f"b{number}", [old.change(**arguments).by("c", 2)])
        with db.transaction() as tx:
            tx.add(old.tasks.after(timedelta(0), old.work(**its)))
        for name, part, value in zip(kept, old.parts.values(), (one, item, arguments, its), strict=True):
            kept[name].append(part.read(part.write(value)))
    return StoredLayers(kept)


def _accepted(*parts: LayerPart) -> Iterator[tuple[Any, ...]]:
    for values in zip(*(part.values for part in parts), strict=True):
        try:
            for part, value in zip(parts, values, strict=True):
                part.write(value)
        except InvalidValue:
            continue
        yield values


def _wrong_counts(db: Database, counted: Sequence[Counted]) -> Iterator[str]:
    """Counts of a refusal that are not those of the items."""
    items = items_of(db)
    for one in counted:
        it = one.difference
        own = [item for item in items if item["_type"]["S"] == it.type]
        own = [item for item in own if not it.texts or item[it.attribute]["S"] in it.texts]
        if it.kind != "breaking" or one.items != len(own):
            yield f"{len(own)} items are stored: {one}"


def _broken_after(db: Database, case: LayerCase, stored: StoredLayers, blobs: Any) -> Iterator[str]:
    documents = Documents(db, case.new.board, blobs=blobs)
    scalars, content, mutation, task = case.new.parts
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in case.new.parts}
    for number in range(len(stored.readings[scalars])):
        head = documents.head(f"b{number}")
        found[scalars].append({f.stored: reading(getattr(head, f.name)) for f in case.new.model.scalars.fields})
        found[content].append(reading(getattr(head, case.new.facts.collection)["1"]))
        case.new.received.clear()
        yield from (f"rejected: {one.error}" for one in documents.process(f"b{number}") if one.status != "applied")
        found[mutation].append(_reading(case.new.received[0]))
    case.new.received.clear()
    TaskWorker(db, case.new.tasks).drain()
    found[task] += map(_reading, case.new.received)
    for place, readings in stored.readings.items():
        for one in readings:
            if not any(_is_alike(one, other, case.renamed) for other in found[place]):
                yield f"{place}: {one} is not among {found[place]}"
    yield from (f"check: {finding}" for finding in db.check(case.new.table, documents, case.new.tasks))


def _reading(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: reading(value) for name, value in values.items()}


def _is_alike(one: Mapping[str, Any], other: Mapping[str, Any], renamed: Mapping[str, str]) -> bool:
    names = {name: renamed.get(name, name) for name in one}
    return all(now in other and is_read_alike(one[name], other[now]) for name, now in names.items())


if __name__ == "__main__":
    shown = next(layer_cases(int(sys.argv[1]), 1))
    sys.stdout.write("\n".join(map(str, (shown.old.facts, shown.new.facts, *broken(int(sys.argv[1])), ""))))
