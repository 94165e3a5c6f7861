"""The laws: what `differences` and `ItemCounts` have to say of what programs make of each other's items."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

from singletable.errors import DeclarationError
from singletable.migrations.differences import differences
from singletable.migrations.item_counts import ItemCounts
from singletable.migrations.model_document import ModelDocument, document_of
from singletable.migrations.rules import ModelDifference
from tests.changes.changes import changed
from tests.changes.declared import drawn
from tests.changes.oracle import MADE, Failure, Program, Written, failures, written

MENDED = ("fill", "move", "remove")
SEEN = ("breaking", *MENDED)
NOW = 1_795_000_000.0
CHANGES_OF_ONE = 10
"""The changes that are tried on one drawn declaration, whose classes are compiled once."""


@dataclass(frozen=True)
class Case:
    """Two declarations, of which the second is the first after some changes."""

    old: Program
    new: Program

    @cached_property
    def forward(self) -> list[tuple[str, Written, list[Failure]]]:
        """The old program's items, by their types, with what the new one makes otherwise of them."""
        return [
            (name, one, list(failures(one, self.old, self.new, name, known=False)))
            for name in self.old.by_type
            for one in self.old.written(name)
        ]

    @cached_property
    def back(self) -> list[tuple[str, list[Failure]]]:
        """The same of the new program's items, of what the old one declares."""
        return [
            (name, list(failures(one, self.new, self.old, name, known=True)))
            for name in sorted(self.new.by_type.keys() & self.old.by_type.keys())
            for one in self.new.written(name)
        ]


def cases(seed: int, count: int) -> Iterator[Case]:
    """So many changed declarations of a drawn one: those that may be declared."""
    random = Random(seed)
    old = _declared(random, seed % 7)
    while count:
        facts = changed(old.facts, random, random.randint(1, 2))
        if facts == old.facts:
            continue
        try:
            new = Program(facts, old.first)
        except DeclarationError:
            continue
        count -= 1
        yield Case(old, new)


def _declared(random: Random, first: int) -> Program:
    while True:
        facts = drawn(random)
        try:
            return Program(facts, first)
        except DeclarationError:
            continue


def broken(case: Case, form: Any = document_of) -> list[str]:
    """The laws that are broken, in words. `form` makes the record of a table."""
    old: ModelDocument = form(case.old.table)
    new: ModelDocument = form(case.new.table).with_known(old)
    names = {type_name: kind.__name__ for type_name, kind in case.new.kinds.items()}
    found = differences(old, new, names)
    return list(_broken(case, found))


def _broken(case: Case, found: Sequence[ModelDifference]) -> Iterator[str]:
    for type_name, one, seen in case.forward:
        for each in _first(seen):
            if not _covered(each, type_name, found, SEEN):
                yield f"new reads {type_name} otherwise: {each}; {list(map(str, found))}"
        yield from _uncounted(case, found, type_name, one, seen)
        if not found and not seen:
            yield from _rewritten(case, type_name, one)
    for type_name, seen in case.back:
        for each in _first(seen):
            if not _covered(replace(each, is_index=False), type_name, found, (*SEEN, "ordered")):
                yield f"old reads {type_name} otherwise: {each}; {list(map(str, found))}"


def _first(seen: list[Failure]) -> list[Failure]:
    """The failures without those that follow from a value that is read otherwise: of index keys, guards, edge sets."""
    return [each for each in seen if not each.is_index] or seen


def _covered(failure: Failure, type_name: str, found: Sequence[ModelDifference], kinds: Sequence[str]) -> bool:
    return any(each.kind in kinds and _is_about(each, failure, type_name) for each in found)


def _is_about(each: ModelDifference, failure: Failure, type_name: str) -> bool:
    is_inside = failure.attribute.startswith(f"{each.attribute}.")
    is_whole = not failure.attribute and not failure.is_index
    is_there = is_whole or each.attribute in ("", failure.attribute) or is_inside
    return each.type in ("", type_name) and is_there


def _uncounted(
    case: Case, found: Sequence[ModelDifference], type_name: str, one: Written, seen: Sequence[Failure]
) -> Iterator[str]:
    """An item is counted if it is read otherwise, and no step mends that; else it is not."""
    counts = ItemCounts(case.new.table, [each for each in found if each.counts != "twice"])
    counts.look([one.item], NOW)
    told = [each.difference for each in counts.counted()]
    is_moving = any(model.key.was is not None for model in case.new.table.models)
    rules = [str(each) for each in told if not _is_careful(each, found, is_moving=is_moving)]
    lost = [each for each in seen if not each.is_index and not _covered(each, type_name, found, MENDED)]
    if lost and not counts.counted():
        yield f"an item of {type_name} is not counted: {lost}; {list(map(str, found))}"
    if rules and not seen:
        yield f"an item of {type_name} is counted, and is read the same: {rules}"


def _is_careful(each: ModelDifference, found: Sequence[ModelDifference], *, is_moving: bool) -> bool:
    """Whether a plan may refuse an item that is read the same: its default is made by a function, or is a member of an
    enum that is otherwise too; or its key moves, and a part of the key has another form besides."""
    if each.rule == "key.changed" and is_moving:
        return True
    is_otherwise = any(it.rule.startswith("enum.") and it.attribute == each.attribute for it in found)
    return each.rule == "default.changed" and (MADE in each.what or is_otherwise)


def _rewritten(case: Case, type_name: str, one: Written) -> Iterator[str]:
    """Where nothing differs, the new program writes the same bytes."""
    model: Any = case.new.model(type_name)
    again = written(model, model.load(one.item))
    if {**again.item, **one.item} != again.item or again.guards != one.guards or again.beside != one.beside:
        yield f"{type_name} is written otherwise, and nothing differs: {one} {again}"


def check(seed: int, count: int, form: Any = document_of) -> list[str]:
    """The broken laws of so many changes of one declaration, each with what repeats it."""
    again = f"python -m tests.changes.laws {seed}"
    return [f"{again}: {text}" for case in cases(seed, count) for text in broken(case, form)]


if __name__ == "__main__":
    for shown in cases(int(sys.argv[1]), CHANGES_OF_ONE):
        if texts := broken(shown):
            sys.stdout.write("\n".join(map(str, (shown.old.facts, shown.new.facts, *texts, ""))))
