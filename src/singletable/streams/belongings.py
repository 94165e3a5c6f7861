"""The items of a consumer that an erasure deletes: dead letters of the subject's items, or of items that name it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Any

from singletable.errors import NotConfigured, SingletableError
from singletable.flow import Port
from singletable.foundation import (
    Belonging,
    LayerBelongings,
    OnUnreadable,
    Reference,
    Subject,
    Table,
    place_in,
    references_of,
    type_in,
)
from singletable.operations import Item, read_item
from singletable.streams.consumer import Consumer
from singletable.streams.dead_letters import DeadLetter, dead_letters, forget, parts_of
from singletable.tables import WRITE_BYTES


class ChangeBelongings(LayerBelongings):
    """The dead letters of one consumer."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.identity = ("changes", consumer.name)
        self.declared = references_of(consumer.table)
        self.others: Sequence[LayerBelongings] = ()

    def beside(self, others: Sequence[LayerBelongings]) -> None:
        self.others = others

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """One query of the consumer's dead letters."""
        try:
            letters = await dead_letters(port, self.consumer.state, self.consumer.name)
        except NotConfigured:
            return []  # no worker has run: the table of leases is missing
        return [self._letter(letter) for letter in letters if self._is_of(letter, subjects)]

    def _letter(self, letter: DeadLetter) -> Belonging:
        return Belonging(
            "dead letter",
            (f"{letter.consumer}#{letter.stream}", f"{letter.shard}#{letter.sequence}"),
            partial(_forget, self.consumer, letter),
            write_units=float(ceil(len(letter.packed) / WRITE_BYTES) + parts_of(letter)),
            what=f"of {letter.type or 'an item'}, of {letter.consumer}",
        )

    def _is_of(self, letter: DeadLetter, subjects: Sequence[Subject]) -> bool:
        table = self.consumer.table
        for item in _images(letter):
            place = place_in(table, item)
            if any(subject.place == place for subject in subjects) or _refers(table, self.declared, item, subjects):
                return True
            model = table.model_of_type(type_in(table, item))
            if model is not None and any(other.names(model, item, subjects) for other in self.others):
                return True
        return False


def _refers(table: Table, references: Sequence[Reference], item: Item, subjects: Sequence[Subject]) -> bool:
    model = table.model_of_type(type_in(table, item))
    if model is None:
        return False
    entity: Any = None
    with suppress(SingletableError):
        entity = model.load_anywhere(item)
    if entity is None:
        return False
    for reference in references:
        if reference.holder is not model.kind:
            continue
        for subject in subjects:
            wanted = reference.values_of(subject.values) if issubclass(subject.kind, reference.subject) else None
            if wanted is not None and reference.is_met(entity, wanted):
                return True
    return False


def _images(letter: DeadLetter) -> Iterator[Item]:
    """The images of a record; nothing for a damaged one, which the check reports."""
    with suppress(SingletableError):
        images = letter.record.dynamodb
        for image in (images.old_image, images.new_image):
            if bytes(image):
                yield read_item(image)


async def _forget(consumer: Consumer, letter: DeadLetter, port: Port) -> bool:
    await forget(port, consumer.state, letter)
    return True
