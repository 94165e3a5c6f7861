"""The laws of documents and tasks: `differences` names what two programs make otherwise of each other's bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from singletable import SingletableError
from singletable.errors import DeclarationError, InvalidValue
from singletable.migrations.differences import differences
from singletable.migrations.model_document import ModelDocument, document_of
from singletable.migrations.rules import ModelDifference
from tests.changes.laws import CHANGES_OF_ONE, SEEN
from tests.changes.layered import LayerFacts, LayerPart, LayerProgram, changed_layers, drawn_layers
from tests.changes.oracle import is_read_alike


@dataclass(frozen=True)
class LayerCase:
    """Two declarations, of which the second is the first after some changes."""

    old: LayerProgram
    new: LayerProgram

    @property
    def renamed(self) -> Mapping[str, str]:
        """The attribute of contents that the new program's upcaster renames."""
        pair = self.new.facts.renamed
        return {} if pair is None or self.old.facts.renamed else dict([pair])


def layer_cases(seed: int, count: int) -> Iterator[LayerCase]:
    """So many changed declarations of a drawn one: those that may be declared."""
    random = Random(seed)
    old = None
    while old is None:
        old = program(drawn_layers(random))
    while count:
        facts = changed_layers(old.facts, random, random.randint(1, 2))
        new = None if facts == old.facts else program(facts)
        if new is not None:
            count -= 1
            yield LayerCase(old, new)


def program(facts: LayerFacts) -> LayerProgram | None:
    """The program; None for types that have no JSON, and what else may not be declared."""
    try:
        return LayerProgram(facts)
    except DeclarationError:
        return None


def broken_layers(case: LayerCase, form: Any = document_of) -> list[str]:
    """The laws that are broken, in words. `form` makes the record of a table."""
    old: ModelDocument = form(case.old.table)
    found = differences(old, form(case.new.table).with_known(old), {})
    return list(_broken(case, found))


def _broken(case: LayerCase, found: Sequence[ModelDifference]) -> Iterator[str]:
    mine, its = case.old.parts, case.new.parts
    for place, part in mine.items():
        for name, text in _unlike(part, its.get(place), case.renamed):
            if not _is_named(found, place, name, SEEN):
                yield f"new reads {place} {name} otherwise: {text}; {list(map(str, found))}"
        if not found:
            yield from _rewritten(place, part, its[place])
    for place in mine.keys() & its.keys():
        back = {new: old for old, new in case.renamed.items()}
        for name, text in _unlike(its[place], mine[place], back, known=True):
            if not _is_named(found, place, name, (*SEEN, "ordered")):
                yield f"old reads {place} {name} otherwise: {text}; {list(map(str, found))}"


def _is_named(found: Sequence[ModelDifference], place: str, name: str, kinds: Sequence[str]) -> bool:
    places = {place, *(f"{place}.{part}" for part in name.split("."))}
    return any(each.kind in kinds and each.subject in places for each in found)


def _stored(part: LayerPart) -> Iterator[Any]:
    """What is stored of the values of a part that are not refused by name."""
    for value in part.values:
        try:
            yield part.write(value)
        except InvalidValue:
            continue


def _unlike(
    writer: LayerPart, reader: LayerPart | None, renamed: Mapping[str, str], *, known: bool = False
) -> Iterator[tuple[str, str]]:
    """The names of what a reader makes otherwise of the bytes of a writer; "" for the whole."""
    for stored in _stored(writer):
        expected = writer.read(stored)
        if reader is None:
            yield "", "nothing reads it"
            continue
        try:
            readings = reader.read(stored)
        except SingletableError as error:
            yield error.attribute or "", error.what
            continue
        for name, one in expected.items():
            now = renamed.get(name, name)
            if now not in readings and known:
                continue
            if now not in readings or not is_read_alike(one, readings[now], known=known):
                yield name, f"{one} is read as {readings.get(now)}"


def _rewritten(place: str, mine: LayerPart, its: LayerPart) -> Iterator[str]:
    """Where nothing differs, the new program writes the same bytes of the same values."""
    for value in mine.values:
        try:
            stored = mine.write(value)
        except InvalidValue:
            continue
        if mine.values == its.values and its.write(value) != stored:
            yield f"{place} is written otherwise, and nothing differs: {stored}"


def check_layers(seed: int, count: int, form: Any = document_of) -> list[str]:
    """The broken laws of so many changes of one declaration, each with what repeats it."""
    again = f"python -m tests.changes.layer_laws {seed}"
    return [f"{again}: {text}" for case in layer_cases(seed, count) for text in broken_layers(case, form)]


if __name__ == "__main__":
    for shown in layer_cases(int(sys.argv[1]), CHANGES_OF_ONE):
        if texts := broken_layers(shown):
            sys.stdout.write("\n".join(map(str, (shown.old.facts, shown.new.facts, *texts, ""))))
