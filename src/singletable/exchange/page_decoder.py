"""A page of items as columns, the fast way: each item once through msgspec, each column once through Arrow.

It takes the items that are exactly as this program writes them: the attributes that the class declares and no other,
each text in the form that is written, the keys that the attributes make. The rest is read by `Dataset.row`, which also
says what its columns don't give back. Both ways give the same rows (a property test).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

from singletable.exchange.columns import Column
from singletable.exchange.fast_columns import Bad, FastColumn, Values, fast_column, slot_texts
from singletable.exchange.fast_parts import part_of
from singletable.foundation import Model, Template, is_attribute
from singletable.values import Field, json_decoder, wire_struct


class PageDecoder:
    """Reads items of one class."""

    def __init__(
        self, model: Model[Any], columns: Sequence[tuple[Field, Column]], keys: Sequence[str], schema: pa.Schema
    ) -> None:
        """`keys` are the key attributes that are columns as well; `schema` is theirs, the columns' and `_rest`."""
        self._schema, self._keys = schema, keys
        self._columns = [
            fast_column(model, f, column, f"f{n}", part_of(f.plan)) for n, (f, column) in enumerate(columns)
        ]
        by_stored = {c.field.stored: c for c in self._columns}
        keyed = enumerate(_templates(model))
        self._texts = [_KeyCheck(n, key, self._columns, by_stored.get(key.attribute)) for n, key in keyed]
        wire: Any = self._wire(model)
        self._decode: Callable[[Any], Any] = json_decoder(wire, strict=False).decode
        self._decode_all: Callable[[Any], list[Any]] = json_decoder(list[wire], strict=False).decode

    def decode(self, items: Sequence[msgspec.Raw]) -> tuple[pa.RecordBatch, list[msgspec.Raw]]:
        """The rows of the items that can be read so, and the other items."""
        return self._rows(*self._wires(items))

    def decode_whole(self, items: Sequence[msgspec.Raw]) -> tuple[pa.RecordBatch, list[msgspec.Raw]] | None:
        """The same where every item is of this class and none takes the slow way for its form; else None."""
        try:
            return self._rows(self._decoded(items), items, [])
        except msgspec.ValidationError:
            return None

    def _rows(
        self, wires: list[Any], read: Sequence[msgspec.Raw], slow: list[msgspec.Raw]
    ) -> tuple[pa.RecordBatch, list[msgspec.Raw]]:
        bad: Bad = set()
        values = {c.name: _values(wires, c) for c in self._columns}
        cells = {c.name: c.cells(values[c.name], bad) for c in self._columns}
        arrays = [c.array(cells[c.name], bad) for c in self._columns]
        keys = {text.attribute: text.check(wires, cells, bad) for text in self._texts}
        nothing: Values = [None] * len(wires)
        shown = [pa.array(keys.get(name, nothing), pa.string()) for name in self._keys]
        columns = [*shown, *arrays, pa.array(nothing, pa.string())]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        if not bad:
            return batch, slow
        good = [n for n in range(len(wires)) if n not in bad]
        return batch.take(pa.array(good, pa.int32())), [*slow, *(read[n] for n in sorted(bad))]

    def _wires(self, items: Sequence[msgspec.Raw]) -> tuple[list[Any], Sequence[msgspec.Raw], list[msgspec.Raw]]:
        """The wire structs, the items that they are of, and the items that have none."""
        try:
            return self._decoded(items), items, []
        except msgspec.ValidationError:
            return self._tried(items)

    def _decoded(self, items: Sequence[msgspec.Raw]) -> list[Any]:
        return self._decode_all(b"[%b]" % b",".join(items))

    def _tried(self, items: Sequence[msgspec.Raw]) -> tuple[list[Any], list[msgspec.Raw], list[msgspec.Raw]]:
        wires: list[Any] = []
        read: list[msgspec.Raw] = []
        slow: list[msgspec.Raw] = []
        for item in items:
            try:
                wires.append(self._decode(item))
            except msgspec.ValidationError:
                slow.append(item)
            else:
                read.append(item)
        return wires, read, slow

    def _wire(self, model: Model[Any]) -> Any:
        """A struct of exactly the attributes that an item has as this program writes it."""
        constants = [(f"g{n}", c.wire, c.stored) for n, c in enumerate(model.constants)]
        texts = [(t.name, wire_struct("S", str), t) for t in self._texts if t.is_own]
        required: list[Any] = [(name, wire) for name, wire, _ in constants]
        required += [(name, wire) for name, wire, t in texts if not t.optional]
        required += [(c.name, c.wire) for c in self._columns if not c.field.may_be_absent]
        absent: list[Any] = [(name, wire | None, None) for name, wire, t in texts if t.optional]
        absent += [(c.name, c.wire | None, None) for c in self._columns if c.field.may_be_absent]
        rename = {name: stored for name, _, stored in constants}
        rename |= {t.name: t.attribute for t in self._texts if t.is_own}
        rename |= {c.name: c.field.stored for c in self._columns}
        return msgspec.defstruct(
            f"{model.kind.__name__}Row", [*required, *absent], rename=rename, forbid_unknown_fields=True, gc=False
        )


class _KeyCheck:
    """The text of one key attribute, compared with the one that the item's attributes make."""

    def __init__(
        self, number: int, key: _KeyTemplate, columns: Sequence[FastColumn], column: FastColumn | None
    ) -> None:
        self.attribute = key.attribute
        self.is_own = column is None
        """Whether it is not also an attribute of the class."""
        self.name = f"k{number}" if column is None else column.name
        by_name = {c.field.name: c for c in columns}
        pieces, self._end = key.template.pieces
        self._pieces = [
            (literal, by_name[s.name], slot_texts(key.template, s, by_name[s.name])) for literal, s in pieces
        ]
        self.optional = [by_name[name] for name in key.optional]

    def check(self, wires: list[Any], cells: dict[str, Values], bad: Bad) -> Values:
        """The stored texts; adds the places of texts that differ from the attributes to `bad`."""
        name = self.name
        if self.optional:
            stored = [None if (k := getattr(w, name)) is None else k.S for w in wires]
        else:
            stored = list(map(attrgetter(f"{name}.S"), wires))
        keys = self._made(len(wires), cells, bad)
        if keys != stored:
            bad.update(n for n, (one, other) in enumerate(zip(keys, stored, strict=True)) if one != other)
        return stored

    def _made(self, count: int, cells: dict[str, Values], bad: Bad) -> Values:
        texts = [write(cells[column.name], bad) for _, column, write in self._pieces]
        keys = _joined([literal for literal, _, _ in self._pieces], texts, self._end, count)
        for column in self.optional:
            keys = [None if cell is None else text for cell, text in zip(cells[column.name], keys, strict=True)]
        return keys


def _joined(literals: Sequence[str], texts: Sequence[Values], end: str, count: int) -> Values:
    if not texts:
        return [end] * count
    if len(texts) == 1:
        return [f"{literals[0]}{t}{end}" for t in texts[0]]
    if len(texts) == 2:
        return [f"{literals[0]}{t}{literals[1]}{u}{end}" for t, u in zip(*texts, strict=True)]
    rows = zip(*texts, strict=True)
    return ["".join([f"{literal}{t}" for literal, t in zip(literals, row, strict=True)]) + end for row in rows]


class _KeyTemplate(msgspec.Struct, frozen=True):
    """A key attribute, its template, and those of its attributes without which the item is not in the index."""

    attribute: str
    template: Template
    optional: tuple[str, ...]


def _templates(model: Model[Any]) -> list[_KeyTemplate]:
    """The key attributes of the table and of the class's indexes."""
    definition = model.table.definition
    templates: dict[str, _KeyTemplate] = {}
    places = [(definition.key, model.key), *((definition.index_keys(n), c) for n, c in model.indexes.items())]
    for attributes, captured in places:
        names = {n for template in captured.templates for n in template.names}
        optional = tuple(sorted(n for n in names if model.by_name[n].optional))
        for attribute, template in zip(attributes, captured.templates, strict=True):
            if not attribute or is_attribute(template, attribute, model.by_name):
                continue
            templates.setdefault(attribute, _KeyTemplate(attribute, template, optional))
    return list(templates.values())


def _values(wires: list[Any], column: FastColumn) -> Values:
    name, tag = column.name, column.tag
    if not tag:
        return [getattr(w, name) for w in wires]
    if not column.field.may_be_absent:
        return list(map(attrgetter(f"{name}.{tag}"), wires))
    return [None if (v := getattr(w, name)) is None else getattr(v, tag) for w in wires]
