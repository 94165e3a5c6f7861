"""A play: both programs write one table in turn, beside a model of what it holds. A difference ends it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from singletable import Table
from tests.soak.beside.records import INDEXED, KEYS, Record, change, drawn, key_of, place_of
from tests.soak.beside.sides import Ours, Side

_OURS = ("put", "upsert", "put_changed", "update", "update", "transact", "delete")
_THEIRS = ("put", "update", "update", "delete")


class Difference(AssertionError):
    """One program does not see what the table should hold."""


class Play:
    """One table, its two programs, and what should be stood in it."""

    def __init__(self, client: Any, table: Table, ours: Ours, theirs: Side, seed: int) -> None:
        self.client, self.table, self.ours, self.theirs, self.random = client, table, ours, theirs, Random(seed)
        self.db = ours.db
        self.model: dict[tuple[Any, ...], Record] = {}

    def fill(self, count: int) -> None:
        """Let the other program write so many items, of six kinds."""
        for number in range(10 * count):
            if len(self.model) == count:
                return
            kind = [*KEYS][number % len(KEYS)]
            record = drawn(self.random, kind)
            self.theirs.put(kind, record)
            self.model[place_of(kind, record)] = record
        raise AssertionError("the keys that are drawn are too few")

    def keep_bytes(self) -> None:
        """Read each item with this library, and put it: the table has the same bytes afterwards."""
        before = self.stored()
        for kind in self.ours.kinds.values():
            for entity in self.db.scan(kind):
                self.db.put(entity)
        after = self.stored()
        if before != after:
            wrong = next(((one, other) for one, other in zip(before, after, strict=False) if one != other), None)
            raise Difference(f"an item that was read and put is another: {wrong}")

    def stored(self) -> list[str]:
        """All items as they are stored, in an order."""
        return sorted(json.dumps(dict(map(in_order, item.items())), sort_keys=True) for item in self.items())

    def items(self) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("scan").paginate(TableName=self.table.name)
        return [item for page in pages for item in page["Items"]]

    def go(self, operations: int) -> None:
        """Let both programs write in turn, each at random; the other one reads what was written."""
        for number in range(operations):
            self.write()
            if number % 250 == 0:
                self.look_by_index()

    def write(self) -> None:
        """One operation of one program, then a read of the other."""
        kind = self.random.choice([*KEYS])
        record = drawn(self.random, kind)
        if self.random.random() < 0.7:
            same = [one for place, one in self.model.items() if place[0] == kind]
            record |= key_of(kind, self.random.choice(same)) if same else {}
        is_ours = self.random.random() < 0.5
        side: Any = self.ours if is_ours else self.theirs
        verb = self.random.choice(_OURS if is_ours else _THEIRS)
        self.do(side, verb, kind, record)
        other = self.theirs if is_ours else self.ours
        did = f"{verb} of a {kind} by {type(side).__name__}"
        self.compare(did, other.get(kind, key_of(kind, record)), kind, record)

    def do(self, side: Any, verb: str, kind: str, record: Record) -> None:
        place, key = place_of(kind, record), key_of(kind, record)
        is_there = place in self.model
        if verb == "delete":
            side.delete(kind, key)
            self.model.pop(place, None)
        elif verb in ("update", "transact") and is_there:
            values = change(self.random, kind)
            removed = [name for name, value in values.items() if value is None]
            kept = {name: value for name, value in values.items() if value is not None}
            getattr(side, verb)(kind, key, kept, removed)
            now = self.model[place] | values
            self.model[place] = {name: value for name, value in now.items() if value is not None}
        else:
            is_new = side is self.ours and verb == "put" and not is_there
            is_whole = verb == "upsert" or (verb == "put_changed" and is_there)
            getattr(side, "create" if is_new else verb if is_whole else "put")(kind, record)
            self.model[place] = record

    def compare(self, did: str, read: Record | None, kind: str, record: Record) -> None:
        expected = self.model.get(place_of(kind, record))
        if read != expected:
            raise Difference(f"after {did}: {read} in place of {expected}")

    def look_by_index(self) -> None:
        """Ask both programs for the items of a value, by the index."""
        for kind, name in INDEXED.items():
            value = drawn(self.random, kind)[name]
            expected = [one for place, one in self.model.items() if place[0] == kind and one[name] == value]
            for side in (self.ours, self.theirs):
                self.same(f"{kind} by {name} of {type(side).__name__}", kind, side.by(kind, {name: value}), expected)

    def look(self) -> None:
        """Compare all that both programs see, and what is stored, with the model. `check` finds nothing."""
        for kind in KEYS:
            expected = [one for place, one in self.model.items() if place[0] == kind]
            for side in (self.ours, self.theirs):
                self.same(f"all of {kind} of {type(side).__name__}", kind, side.all(kind), expected)
        if len(self.items()) != len(self.model):
            raise Difference(f"{len(self.items())} items are stored in place of {len(self.model)}")
        findings = self.db.check(self.table)
        if findings:
            raise Difference(f"check finds {findings[0]}")

    def same(self, what: str, kind: str, read: list[Record], expected: list[Record]) -> None:
        one, other = (sorted(records, key=lambda each: place_of(kind, each)) for records in (read, expected))
        if one != other:
            first = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
            raise Difference(f"{what}: {len(one)} in place of {len(other)}; first {first}")


def in_order(attribute: tuple[str, Any]) -> tuple[str, Any]:
    """A stored attribute, a set in an order: it has none."""
    name, value = attribute
    return name, {tag: sorted(inner) if tag in ("SS", "NS") else inner for tag, inner in value.items()}
