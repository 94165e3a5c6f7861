"""Trials: whether the classes that adoption writes are accepted, and make each stored item again.

What is written out has been tried: a class that is refused is written more carefully, or left out and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import CodeType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.adopt.attributes import comparable
from singletable.adopt.key_texts import SlotValue, ValueForm
from singletable.adopt.module_text import ModuleText
from singletable.adopt.specs import KeySpec, KeyTextSpec, KindSpec
from singletable.errors import DeclarationError, SingletableError
from singletable.foundation import Table
from singletable.operations import Item, encode, read_item
from singletable.values import as_read_of

_NUMBERS = count()


class ItemTrial(Struct, frozen=True):
    """The outcome of one item: read and made again by the classes of a table."""

    type: str = ""
    """The class that it is of; empty for none."""
    different: tuple[str, ...] = ()
    """The attributes that are made otherwise than they are stored."""
    refused: str = ""
    """Why it could not be read or made."""
    undeclared: tuple[str, ...] = ()
    """The attributes that its class does not declare, and writes keep."""

    @property
    def is_exact(self) -> bool:
        """Whether a class makes it again, attribute by attribute."""
        return bool(self.type) and not self.different and not self.refused


def trial_of(table: Table, item: Item) -> ItemTrial:
    """Read an item by a table's classes and make it again, in memory."""
    type_name = table.type_of(item)
    model = table.model_of_type(type_name)
    if model is None:
        return ItemTrial()
    try:
        entity = model.load(item)
        if entity is None:
            return ItemTrial()
        again = read_item(encode(model.item(entity)))
    except SingletableError as error:
        return ItemTrial(type_name, refused=str(error).partition("\n")[0])
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        return ItemTrial(type_name, refused=type(error).__name__)  # its text may quote the item
    names = {name for name in {*item, *again} if not _is_same(item.get(name), again.get(name))}
    names |= _in_other_forms(entity)
    known = {*model.beside, *(field.stored for field in model.fields)}
    return ItemTrial(type_name, tuple(sorted(names)), "", tuple(sorted(name for name in item if name not in known)))


def _in_other_forms(entity: Any) -> set[str]:
    """The attributes that are kept as they are stored, and that a new value would be written otherwise."""
    forms = as_read_of(entity).items()
    return {name for name, (_, stored) in forms if stored is not None and "NULL" not in stored}


def _is_same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    return one is not None and other is not None and comparable(one) == comparable(other)


def table_in(source: str, variable: str) -> Table:
    """The table of a module's text, whose classes are made. DeclarationError."""
    return _made({"__name__": f"singletable_adopted_{next(_NUMBERS)}"}, source, variable)


def _made(space: dict[str, Any], source: str, variable: str) -> Table:
    """The table of a module, after a text is run in it."""
    exec(_compiled(source), space)  # noqa: S102 our own text
    table: Table = space[variable]
    for model in table.models:
        model.codec.dump  # noqa: B018 made now: DeclarationError, where one is told at the first use
    return table


def _compiled(source: str) -> CodeType:
    return compile(source, "<adopted>", "exec", dont_inherit=True)


class ClassTrials:
    """The classes of a module, tried one after the other."""

    def __init__(self, text: ModuleText) -> None:
        self.text = text
        self.kinds: list[KindSpec] = []
        self.refused: dict[str, str] = {}
        """The kinds that no class is accepted for, with the reason."""
        self._made: tuple[str, Sequence[KindSpec], dict[str, Any]] | None = None
        """The last module that was accepted: its table's text, its kinds, its names."""

    @property
    def titles(self) -> frozenset[str]:
        """The names of its classes."""
        return frozenset(kind.title for kind in self.kinds)

    def take(self, kind: KindSpec, items: Sequence[Item]) -> None:
        """Take a kind in, in the first form that is accepted and makes its items again."""
        why = ""
        for variant in (kind, *_variants(kind)):
            try:
                table = self._table([*self.kinds, variant])
            except DeclarationError as error:
                why = why or error.what
                self.text.guards |= bool(self.text.named) and "could have the same key" in error.what
                continue
            self.kinds.append(self._exact(variant, table, items))
            return
        self.refused[kind.type] = why

    def _table(self, kinds: Sequence[KindSpec]) -> Table:
        """The table of some kinds. A kind more is added to the module of the others: its cost is one class, not all."""
        declared, made, self._made = self.text.table(), self._made, None
        if made is not None and made[0] == declared and _are_same(made[1], kinds[:-1]):
            space, source = made[2], self.text.addition(kinds[-1])
        else:
            space, source = {"__name__": f"singletable_adopted_{next(_NUMBERS)}"}, self.text.source(kinds)
        table = _made(space, source, self.text.variable)
        self._made = declared, kinds, space
        return table

    def _exact(self, kind: KindSpec, table: Table, items: Sequence[Item]) -> KindSpec:
        """The kind without the keys of indexes, and without the attributes, that are made otherwise than stored."""
        while (wrong := _wrong_in(kind, table, items)) and (less := _without(kind, wrong)) is not None:
            kind = less
            table = self._table([*self.kinds, kind])
        return kind


def _are_same(some: Sequence[KindSpec], others: Sequence[KindSpec]) -> bool:
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))


def _wrong_in(kind: KindSpec, table: Table, items: Sequence[Item]) -> frozenset[str]:
    """The attributes that some item of a kind has otherwise than its class makes them."""
    trials = (trial_of(table, item) for item in items)
    return frozenset(name for trial in trials if trial.type == kind.type for name in trial.different)


def _without(kind: KindSpec, wrong: frozenset[str]) -> KindSpec | None:
    """The kind with less declared; None if nothing can be left out."""
    for key in kind.keys[1:]:
        if any(text.attribute in wrong for text in key.texts):
            keys = tuple(other for other in kind.keys if other is not key)
            why = f"the key of {key.index}: some items have another one than their attributes make, or none"
            return replace(kind, keys=keys, left=(*kind.left, why))
    in_keys = {place.name for key in kind.keys for text in key.texts for place in text.places}
    columns = tuple(column for column in kind.columns if column.stored not in wrong - in_keys)
    if len(columns) == len(kind.columns):
        return None
    left = (f"the attribute {name}: it would be written otherwise" for name in sorted(wrong - in_keys))
    return replace(kind, columns=columns, left=(*kind.left, *left))


def _variants(kind: KindSpec) -> Iterator[KindSpec]:
    """The kind, then more and more careful forms of it."""
    forms = (kind, *_escaped(kind))
    for form in forms:
        yield form
        yield replace(form, is_ambiguous=True)
    for number in range(len(kind.keys) - 1, 0, -1):
        less = replace(
            kind,
            keys=kind.keys[:number],
            left=(*kind.left, *(f"the key of {key.index}: it is refused" for key in kind.keys[number:])),
        )
        yield less
        yield replace(less, is_ambiguous=True)


def _escaped(kind: KindSpec) -> Iterator[KindSpec]:
    """The kind with raw texts escaped: then they hold no separator."""
    keys = tuple(KeySpec(key.index, tuple(map(_with_escapes, key.texts))) for key in kind.keys)
    if keys != kind.keys:
        yield replace(kind, keys=keys)


def _with_escapes(text: KeyTextSpec) -> KeyTextSpec:
    pieces = (
        SlotValue(piece.name, ValueForm(""), piece.kind)
        if isinstance(piece, SlotValue) and piece.form == ValueForm("raw")
        else piece
        for piece in text.pieces
    )
    return replace(text, pieces=tuple(pieces))
