"""The reader of a kind: its keys, its attributes, and other readings of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from singletable.adopt.attributes import AttributeColumn, column_of
from singletable.adopt.doubts import doubts_of
from singletable.adopt.key_texts import CLASSES, TIMELY, SlotValue, ValueForm, texts_of
from singletable.adopt.layout import TableLayout
from singletable.adopt.readings import KeyTexts, Piece, Reading, is_named, readings_in, readings_of, stands_in
from singletable.adopt.specs import KeySpec, KeyTextSpec, KindSpec, Stamps
from singletable.errors import DeclarationError
from singletable.operations import Item
from singletable.values import check_name

_MOST_READ = 80
"""Items whose keys are read in every way. The others leave of these ways those that are right for them."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_FEW = 3
_GENERIC = re.compile(r"(?:pk|sk|hash|range|key|partition|sort)(?:[-_]?(?:key|\d+))?$", re.IGNORECASE)
"""The names of attributes that hold keys and nothing else."""
_STAMPS = ("__edb_v__",)


class KindReader:
    """Reads the items of one kind of a table."""

    def __init__(
        self, type_name: str, title: str, items: Sequence[Item], layout: TableLayout, named: str | None
    ) -> None:
        self.type, self.title, self.items, self.layout, self.named = type_name, title, items, layout, named
        self.in_key: dict[str, ValueForm] = {}
        """The values that are in the primary key alone, by the names that they get."""
        self.values: list[dict[str, str]] = [{} for _ in items]
        """The same values, by item."""
        self.left: list[str] = []
        self.unnameable = {name for item in items for name in item if not _is_declarable(name)}
        self.constant = self._constant()

    def spec(self) -> KindSpec | None:
        """The kind as a class; None if its primary key can't be read."""
        primary = self._key(None, self.layout.key)
        if primary is None or (all(text.is_lone for text in primary.texts) and not self._are_alike()):
            return None
        keys = [primary, *filter(None, (self._key(name, pair) for name, pair in self.layout.places if name))]
        keys, columns = self._with_columns(self._in_one_type(keys))
        return KindSpec(
            self.type, self.title, len(self.items), tuple(keys), columns, self._stamps(), left=tuple(self.left)
        )

    def _are_alike(self) -> bool:
        """Whether the items have an attribute in common, or no attributes but keys."""
        others = [item.keys() - self.layout.attributes for item in self.items]
        return not any(others) or bool(set[str].intersection(*map(set[str], others)))

    # --- keys ---------------------------------------------------------------------------------------------------------
    def _key(self, index: str | None, pair: tuple[str, str]) -> KeySpec | None:
        names = [name for name in pair if name]
        if not all(any(name in item for item in self.items) for name in names):
            return None
        texts = [self._text(name, index) for name in names]
        if any(text is None for text in texts):
            self.left.append(f"the key of {index}: no attributes make it")
            return None
        return KeySpec(index, tuple(text for text in texts if text is not None))

    def _text(self, attribute: str, index: str | None) -> KeyTextSpec | None:
        kind = self.layout.kinds.get(attribute, "S")
        have = [at for at, item in enumerate(self.items) if attribute in item]
        lone = KeyTextSpec(attribute, (SlotValue(attribute, ValueForm("")),))
        if kind != "S":
            return lone
        keys = [KeyTexts(self.items[at][attribute]["S"], self._texts(at)) for at in have]
        live = readings_in(readings_of(_spread(keys)), keys)
        if not live or _is_one_value(live[0]) or (_is_literal(live[0]) and not _GENERIC.search(attribute)):
            return lone
        befores = zip(("", *live[0]), live[0], strict=False)
        pieces = tuple(self._chosen(before, piece, _lowers(self.named, live[0])) for before, piece in befores)
        unnamed = [piece for piece in pieces if isinstance(piece, SlotValue) and not piece.name]
        if unnamed and index is not None:
            return None
        shapes = live[:1] if len(self.items) < _FEW else live  # a rare kind is told as such
        doubts = (*doubts_of(shapes, pieces, self.in_key), *self._same_constants(pieces, keys))
        return KeyTextSpec(attribute, self._with_names(attribute, pieces, live[0], keys, have), doubts)

    def _texts(self, at: int) -> Mapping[SlotValue, str]:
        """The texts that an item's attributes, and the values in its primary key, would have in a key."""
        item = self.items[at]
        skipped = self.layout.attributes | self.constant.keys() | self.unnameable | {self.named}
        is_few = len(self.items) < _FEW
        texts = {
            SlotValue(name, form): text
            for name, value in item.items()
            if name not in skipped
            for form, text in texts_of(value)
            if not (is_few and "%" in form.format)
        }
        for name, text in self.values[at].items():
            texts |= {SlotValue(name, form): one for form, one in texts_of(_stored(text, self.in_key[name]))}
        return texts

    def _chosen(self, before: Piece, piece: Piece, usual: str) -> str | SlotValue:
        """A literal; or the likeliest of what may stand there, in the usual form if it is right."""
        if isinstance(piece, str):
            return piece
        return min(
            piece,
            key=lambda place: (bool(usual) and (place.form.format != usual or not place.name), _rank(place, before)),
        )

    def _with_names(
        self,
        attribute: str,
        pieces: Sequence[str | SlotValue],
        reading: Reading,
        keys: Sequence[KeyTexts],
        have: Sequence[int],
    ) -> tuple[str | SlotValue, ...]:
        """The pieces, with a name for each value that is in keys alone; each item's value of it is kept."""
        named: list[str | SlotValue] = []
        numbers: dict[int, str] = {}
        for number, piece in enumerate(pieces):
            if isinstance(piece, str) or piece.name:
                named.append(piece)
                continue
            name = self._new_name(pieces[number - 1] if number else "", attribute)
            self.in_key[name] = piece.form
            numbers[number] = name
            named.append(SlotValue(name, piece.form))
        for at, key in zip(have, keys, strict=True) if numbers else ():
            texts = _values_in(pieces, key)
            self.values[at] |= {name: texts[number] for number, name in numbers.items()}
        return tuple(named)

    def _new_name(self, before: str | SlotValue, attribute: str) -> str:
        words = _WORD.findall(before) if isinstance(before, str) else []
        name = words[-1].lower().strip("_") if words else f"{attribute.lower()}_value"
        taken = {*self.in_key, *(n.lower() for item in self.items[:50] for n in item), *self.layout.attributes}
        while name in taken:
            name += "_id" if not name.endswith("_id") else "_"
        return name

    # --- attributes ---------------------------------------------------------------------------------------------------
    def _constant(self) -> Mapping[str, str]:
        """The attributes that have one text in all of several items."""
        if len(self.items) < _FEW:
            return {}
        values: dict[str, list[Any]] = {}
        for item in self.items:
            for name, value in item.items():
                values.setdefault(name, []).append(value)
        return {
            name: next(iter(some[0].values()))
            for name, some in values.items()
            if next(iter(some[0])) in ("S", "N") and len(some) >= _FEW and all(value == some[0] for value in some)
        }

    def _same_constants(self, pieces: Sequence[str | SlotValue], keys: Sequence[KeyTexts]) -> Iterator[str]:
        """Words of all keys that an attribute has in some form, in all items."""
        words = [*(piece for piece in pieces if isinstance(piece, str)), *_same_values(pieces, keys)]
        for name in sorted(self.constant.keys() - self.layout.attributes - {self.named, *_STAMPS}):
            for form, text in texts_of(next(item[name] for item in self.items if name in item)):
                if any(stands_in(text, word) for word in words):
                    shown = name if form.format == "raw" else f"{{{name}:{form.format}}}"
                    yield f"{text!r} is a literal, or the attribute {shown}, which is so in all {len(self.items)} items"
                    break

    def _stamps(self) -> Stamps:
        return {name: text for name, text in self.constant.items() if name in _STAMPS}

    def _in_one_type(self, keys: Sequence[KeySpec]) -> list[KeySpec]:
        """The keys, with an attribute in forms of one type: that of the form that asks for one of its own."""
        needs = {p.name: p.form for key in keys for text in key.texts for p in text.places if p.form.annotation}
        return [KeySpec(key.index, tuple(_retyped(text, needs) for text in key.texts)) for key in keys]

    def _with_columns(self, keys: list[KeySpec]) -> tuple[list[KeySpec], tuple[AttributeColumn, ...]]:
        """The keys whose attributes all have a type, and the attributes."""
        left, columns = [*self.left], self._columns(keys)
        declared = {column.stored for column in columns}
        whole = [key for key in keys if key.index is None or declared.issuperset(key.names)]
        if len(whole) == len(keys):
            return keys, columns
        lost = (key for key in keys if key not in whole)
        why = "an attribute in it has values of several types"
        self.left = [*left, *(f"the key of {key.index}: {why}" for key in lost)]
        return self._with_columns(whole)

    def _columns(self, keys: Sequence[KeySpec]) -> tuple[AttributeColumn, ...]:
        wanted: dict[str, str] = {}
        lone = {text.attribute for key in keys for text in key.texts if text.is_lone}
        for place in (place for key in keys for text in key.texts if not text.is_lone for place in text.places):
            wanted.setdefault(place.name, place.form.annotation or place.form.type)
        names = dict.fromkeys(name for item in self.items for name in item)
        columns = [AttributeColumn(name, form.type, role="in_key") for name, form in self.in_key.items()]
        undeclared = self.layout.attributes - lone
        for name in names:
            if name in undeclared or name == self.named or name in _STAMPS:
                continue
            columns += self._column(name, wanted)
        return tuple(sorted(columns, key=lambda column: column.optional))

    def _column(self, name: str, wanted: Mapping[str, str]) -> list[AttributeColumn]:
        if name in self.unnameable:
            self.left.append(f"the attribute {name!r}: a class can't have one of this name")
            return []
        if name == self.layout.ttl and name not in wanted:
            column = column_of(name, self.items, wanted="EpochSeconds")
            if column is not None:
                return [AttributeColumn(name, "datetime", column.optional, "expires")]
        column = column_of(name, self.items, wanted=wanted.get(name, ""))
        if column is None:
            self.left.append(f"the attribute {name}: its values have several types")
        return [] if column is None else [column]


def _is_declarable(name: str) -> bool:
    try:
        check_name(name)
    except DeclarationError:
        return False
    return True


def _spread(keys: Sequence[KeyTexts]) -> Sequence[KeyTexts]:
    """Some of the texts, from all over, the longest first: it has the most places."""
    step = max(1, len(keys) // _MOST_READ)
    return sorted(keys[::step][:_MOST_READ], key=lambda key: -len(key.text))


def _is_one_value(reading: Reading) -> bool:
    """Whether a text is one value that is nowhere else."""
    return len(reading) == 1 and not isinstance(reading[0], str) and not any(place.name for place in reading[0])


def _is_literal(reading: Reading) -> bool:
    """Whether a text is the same in all items: under an attribute of its own name rather a value than a literal."""
    return len(reading) == 1 and isinstance(reading[0], str)


def _lowers(named: str | None, reading: Reading) -> str:
    """The form that a library gives every text of a key: ElectroDB has those with a `$` in front in lower case."""
    is_electro = named == "__edb_e__" and isinstance(reading[0], str) and reading[0].startswith("$")
    return "lower" if is_electro else ""


def _rank(place: SlotValue, before: Piece) -> tuple[float, int, SlotValue]:
    if not place.name:
        return 9.0, list(CLASSES).index(place.kind), place
    form = -0.2 if place.form.format in ("s", "ms") and TIMELY.search(place.name) else place.form.cost
    return form - 0.5 * is_named(before, place.name) + 0.1 * place.name.startswith("_"), 0, place


def _retyped(text: KeyTextSpec, needs: Mapping[str, ValueForm]) -> KeyTextSpec:
    """A text whose attributes are of the types that other keys need: digits are seconds then."""
    if text.is_lone:
        return text
    pieces: list[str | SlotValue] = []
    for piece in text.pieces:
        if isinstance(piece, SlotValue) and piece.name in needs and not piece.form.annotation:
            annotation = needs[piece.name].annotation
            format = {"EpochSeconds": "s", "EpochMilliseconds": "ms", "date": ""}.get(annotation, "")
            piece = SlotValue(piece.name, ValueForm(format, needs[piece.name].type, annotation))
        pieces.append(piece)
    return KeyTextSpec(text.attribute, tuple(pieces), text.doubts)


def _stored(text: str, form: ValueForm) -> Mapping[str, Any]:
    return {"N": str(int(text))} if form.type == "int" else {"S": text}


def _same_values(pieces: Sequence[str | SlotValue], keys: Sequence[KeyTexts]) -> list[str]:
    """The values that are in keys alone, and are the same in all of them."""
    if all(isinstance(piece, str) or piece.name for piece in pieces):
        return []
    first, *others = (_values_in(pieces, key) for key in keys)
    return [text for number, text in first.items() if all(other[number] == text for other in others)]


def _values_in(pieces: Sequence[str | SlotValue], key: KeyTexts) -> Mapping[int, str]:
    """The texts in the places of a key that no attribute has."""
    pattern = ""
    for number, piece in enumerate(pieces):
        if isinstance(piece, str):
            pattern += re.escape(piece)
        elif piece.name:
            pattern += re.escape(key.places[piece])
        else:
            held = CLASSES[piece.kind][0]
            pattern += f"(?P<p{number}>(?{'a' if held.flags & re.ASCII else 'u'}:{held.pattern}))"
    match = re.fullmatch(pattern, key.text, re.DOTALL)
    assert match is not None
    return {int(name[1:]): text for name, text in match.groupdict().items()}
