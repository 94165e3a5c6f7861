"""Counts: the items that a declaration can't read, or would read otherwise than they were written.

Each item is brought to the current version, loaded by its class, and encoded again. An item that fails, or is
encoded otherwise, counts for the difference that concerns it (`rules`). Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import SingletableError
from singletable.foundation import (
    Model,
    Table,
    attached_keys,
    covered_place,
    entity_name,
    guard_key,
    is_same,
    place_in,
    type_in,
)
from singletable.hidden_fields import repr_without
from singletable.migrations.item_writes import ItemMove
from singletable.migrations.needed import application_type, needed
from singletable.migrations.rules import ModelDifference
from singletable.operations import Item, encode
from singletable.values import AttributeValue, Field, only_declared

_EXAMPLES = 5
_NOTHING: Mapping[str, Any] = {}
_ABSENT: AttributeValue = {"NULL": True}


_WHICH = {"twice": " whose value an earlier item has", "converts": " that can't become what the function says"}
"""Which items are counted, where the rule's words say what a plan does about the others."""


class Counted(Struct, frozen=True):
    """A difference with the items that it concerns."""

    difference: ModelDifference
    items: int
    keys: tuple[str, ...] = ()
    """The keys of the first five, without personal parts."""

    __repr__ = repr_without("keys")

    @property
    def without_keys(self) -> str:
        """It in words that an error may hold."""
        which = _WHICH.get(self.difference.counts, "")
        noun = "item" if self.items == 1 else "items"
        return f"{self.items} {noun}{which}: {self.difference}"

    def __str__(self) -> str:
        """The form for a terminal, with its keys."""
        which, _, difference = self.without_keys.partition(": ")
        return f"{which}, as {', '.join(self.keys)}: {difference}"


class _ItemLook(Struct, frozen=True):
    """One item as its class reads it: the stored item in the current version, and what it is encoded as again."""

    item: Item
    stored: Item
    again: Item = {}
    failure: SingletableError | None = None
    refusal: SingletableError | None = None
    """The reason why the class can't write it again: an attribute makes no key, or no guard."""

    def fails_in(self, name: str) -> bool:
        """Whether an attribute is the one that can't be read, or is around it."""
        attribute = "" if self.failure is None else self.failure.attribute or ""
        return attribute == name or attribute.startswith(f"{name}.")

    def differs(self, name: str) -> bool:
        """Whether the stored value of an attribute is another when it is written again; of "", any that is both."""
        names = [name] if name else list(self.item)
        both = [n for n in names if n in self.item and n in self.again]
        return any(not is_same(self.item[n], self.again[n]) for n in both)


class ItemCounts:
    """The counts of a table's items. `whole` is for a table without a record of all forms."""

    def __init__(self, table: Table, differences: Sequence[ModelDifference], *, whole: bool = False) -> None:
        self.table, self.whole = table, whole
        raised = {one.type for one in differences if one.rule.startswith("version.")}
        self.differences = [d for d in differences if d.counts and not (d.type in raised and _is_told(table, d))]
        self.seen = 0
        self._counted: dict[tuple[str, str], Counted] = {}
        self.values = set[int]()
        """Digests of unique values, and of items made by conversions, that were met."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to count."""
        return self.whole or bool(self.differences)

    def anew(self) -> ItemCounts:
        """The same, before any item."""
        return ItemCounts(self.table, self.differences, whole=self.whole)

    def counted(self) -> list[Counted]:
        """The differences with counts."""
        return list(self._counted.values())

    def take_up(self, seen: int, counted: Iterable[Counted], values: Iterable[int]) -> None:
        """Go on from the counts of an earlier reading."""
        self.seen, self.values = seen, {*values}
        self._counted = {difference.difference.place: difference for difference in counted}

    def add(self, seen: int, counted: Iterable[Counted]) -> None:
        """Add the counts of other items."""
        self.seen += seen
        for more in counted:
            before = self._counted.get(more.difference.place, Counted(more.difference, 0))
            keys = (*before.keys, *more.keys)[:_EXAMPLES]
            self._counted[more.difference.place] = replace(before, items=before.items + more.items, keys=keys)

    def look(self, items: Iterable[Item], now: float) -> None:
        """Count some items."""
        for item in items:
            self.seen += 1
            type_name = type_in(self.table, item)
            own = [difference for difference in self.differences if difference.type in ("", type_name)]
            model = self.table.model_here(type_name)
            if model is not None and (own or self.whole):
                concerned = list(self._of_item(model, item, own, now))
            else:
                concerned = [difference for difference in own if self._is_without_class(difference, item)]
            for difference in dict.fromkeys(concerned):
                self._count(difference, type_name, item)

    def _is_without_class(self, difference: ModelDifference, item: Item) -> bool:
        """Whether an item without a class counts: of a removed type, or of any if the type attribute is another."""
        if difference.type:
            return difference.counts == "all" and _has_text(difference, item)
        return application_type(self.table, item) is not None

    def _of_item(
        self, model: Model[Any], item: Item, own: Sequence[ModelDifference], now: float
    ) -> Iterator[ModelDifference]:
        look = _look(model, item)
        if look is None:
            return
        concerned = [difference for difference in own if self._concerns(difference, model, look, now)]
        if look.failure is not None and not any(difference.counts == "reads" for difference in concerned):
            field = next((f for f in model.fields if look.fails_in(f.stored)), None)
            attribute = field.stored if field is not None else ""
            subject = entity_name(model.kind) + (f".{field.name}" if field is not None else "")
            yield ModelDifference("unreadable", subject, look.failure.what, model.type, attribute)
        if look.refusal is not None and not concerned:
            yield _unwritable(model, look.refusal)
        yield from concerned

    def _concerns(self, difference: ModelDifference, model: Model[Any], look: _ItemLook, now: float) -> bool:
        stored = look.item.get(difference.attribute)
        if difference.counts == "lacking":
            return stored is None or "NULL" in stored
        if difference.counts == "holding":
            return stored is not None and "NULL" not in stored and _has_text(difference, look.item)
        if difference.counts == "all":
            return _has_text(difference, look.item)
        if difference.counts == "writes":
            return False  # it is counted as `unwritable`
        if difference.counts == "twice":
            return look.refusal is None and look.failure is None and self._is_twice(difference, model, look.item, now)
        if difference.counts == "converts":
            return look.failure is None and self._is_stuck(look.stored, now)
        if look.failure is not None:
            return not difference.attribute or look.fails_in(difference.attribute)
        return look.differs(difference.attribute)

    def _is_twice(self, difference: ModelDifference, model: Model[Any], item: Item, now: float) -> bool:
        """Whether an earlier item has its unique value. An expired item holds none."""
        field = next((f for f in model.uniques if f.stored == difference.attribute), None)
        ends = item.get(self.table.ttl_name, _NOTHING).get("N")
        stored = item.get(difference.attribute, _ABSENT)
        if field is None or "NULL" in stored or (ends is not None and float(ends) <= now):
            return False
        key = guard_key(model, field.name, field.plan.load(stored))
        return self._is_met(key.partition)

    def _is_met(self, text: str) -> bool:
        """Whether a text was met before."""
        digest = digest_of(text)
        is_met = digest in self.values
        self.values.add(digest)
        return is_met

    def _is_stuck(self, item: Item, now: float) -> bool:
        """Whether an item can't be converted, or becomes one under the key of another that differs."""
        need = needed(self.table, item, now)
        if not isinstance(need, ItemMove):
            return need is not None
        facts = [(repr(place_in(self.table, one)), encode(one).hex()) for one in need.items]
        met = [(self._is_met(place), self._is_met(place + whole)) for place, whole in facts]
        return any(has_place and not is_whole for has_place, is_whole in met)

    def _count(self, difference: ModelDifference, type_name: str, item: Item) -> None:
        counted = self._counted.get(difference.place, Counted(difference, 0))
        keys = counted.keys
        if len(keys) < _EXAMPLES:
            keys = (*keys, " / ".join(covered_place(self.table, type_name, place_in(self.table, item))))
        self._counted[difference.place] = replace(counted, items=counted.items + 1, keys=keys)


def digest_of(text: str) -> int:
    """A digest of eight bytes."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def _is_told(table: Table, difference: ModelDifference) -> bool:
    """Whether the class says what the values of an attribute are since its new version: which members they are."""
    model = table.model_here(difference.type)
    if model is None or difference.rule != "enum.changed":
        return False
    return any(f.since == model.version for f in model.fields if f.stored == difference.attribute)


def unique_of(model: Model[Any], field: Field) -> ModelDifference:
    """A unique attribute of a table that no record knows: its values may have no guards."""
    return ModelDifference(
        "unique.added", f"{entity_name(model.kind)}.{field.name}", "it is unique", model.type, field.stored
    )


def _look(model: Model[Any], item: Item) -> _ItemLook | None:
    """An item as its class reads and writes it; None for one that is being deleted."""
    current = item
    try:
        version = model.version_of(item)
        current = model.upcast(item, version) if version < model.version else item
        entity = model.load(item)
    except SingletableError as error:
        return _ItemLook(current, item, failure=error)
    if entity is None:
        return None
    try:
        with only_declared():  # what an object inside of it carries, its class doesn't read
            again: Item = model.item(entity)
        again = model.upcast(again, model.stored_as) if model.is_in_two_forms else again
        attached_keys(model, entity)
        version_attribute = model.table.definition.version_attribute
        return _ItemLook(current, item, {n: v for n, v in again.items() if n != version_attribute})
    except SingletableError as error:  # such as a key that is too long: it can be read, and a fill leaves it unchanged
        return _ItemLook(current, item, refusal=error)


def _unwritable(model: Model[Any], refusal: SingletableError) -> ModelDifference:
    name = (refusal.attribute or "").rpartition(".")[2].strip("{}")
    subject = entity_name(model.kind) + (f".{name}" if any(field.name == name for field in model.fields) else "")
    return ModelDifference("unwritable", subject, refusal.what, model.type)


def _has_text(difference: ModelDifference, item: Item) -> bool:
    """Whether an item's attribute has one of the stored values that a difference is about."""
    if not difference.texts:
        return True
    stored = item.get(difference.attribute, _NOTHING)
    return any(str(value) in difference.texts for value in stored.values())
