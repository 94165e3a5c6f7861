"""Personal values in documents, and how an erasure takes them out.

    @dataclass(frozen=True)
    class Cell:
        text: str = field(personal=True)
        author: str | None = field(default=None, mentions=Person.id)

    class Page(Document, table=app, principal=Person.id):
        owner: str | None = field(default=None, mentions=Person.id)
        cells: Items[Cell]

A mention of an erased person is cleared. So is each personal value beside it, in the same object, and each one that a
mutation of theirs gave, wherever in the document it is now. In their own mutations all that is personal is cleared; of
a mutation that says nothing of its arguments, all of them. What such a mutation gave is not known to be personal: its
texts that are an item's id, or name somebody in the document, are not theirs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast
from uuid import UUID

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from singletable.documents.canonical_json import is_array, is_object, types_in
from singletable.errors import DeclarationError
from singletable.expressions import first_name, owner_of
from singletable.foundation import ERASED, Subject, mentions, target_of, without_mention
from singletable.values import METADATA


class PersonalNames(NamedTuple):
    """The declarations of one object's attributes."""

    mentions: Mapping[str, Any] = {}
    """The attribute of an entity that each one names somebody by."""
    personal: frozenset[str] = frozenset()

    @property
    def says_nothing(self) -> bool:
        return not (self.mentions or self.personal)


SAYS_NOTHING = PersonalNames()
_TEXTS_IN_JSON = (bytes, UUID, date, time, timedelta, Decimal)


def declared_names(mentions: Mapping[str, Any] | None, personal: Collection[str] | None) -> PersonalNames | None:
    """The declarations of a value's parts by name; None where there are none."""
    if mentions is None and personal is None:
        return None
    return PersonalNames(dict(mentions or {}), frozenset(personal or ()))


def names_of(declared: Iterable[tuple[str, Mapping[str, Any]]]) -> PersonalNames:
    """The declarations of attributes, by names and options. DeclarationError for `belongs_to=`, which is of items."""
    named: dict[str, Any] = {}
    personal: set[str] = set()
    for name, options in declared:
        if options.get("belongs_to") is not None:
            raise DeclarationError(
                f"{name} is a part of a document, and can't be belongs_to=",
                attribute=name,
                hint="Say mentions= of it, or belongs_to= of the document's class.",
            )
        if options.get("mentions") is not None:
            named[name] = options["mentions"]
        elif options.get("personal"):
            personal.add(name)
    return PersonalNames(named, frozenset(personal)) if named or personal else SAYS_NOTHING


def check_parameters(where: str, names: PersonalNames, parameters: Collection[str]) -> None:
    """DeclarationError for a name that no parameter has."""
    for name in (*names.mentions, *sorted(names.personal)):
        if name not in parameters:
            raise DeclarationError(
                f"{where} has no parameter {name!r}", hint="mentions= and personal= name parameters of the function."
            )


@lru_cache(maxsize=512)
def names_in(kind: type[Any]) -> PersonalNames:
    """The declarations of a dataclass."""
    return names_of((field.name, field.metadata.get(METADATA, {})) for field in dataclasses.fields(kind))


def _said_in(kind: Any) -> Iterator[PersonalNames]:
    for info in types_in(inspect.type_info(kind), set()):
        if isinstance(info, inspect.DataclassType) and not names_in(info.cls).says_nothing:
            yield names_in(info.cls)


def says_anything(kind: Any) -> bool:
    """Whether a type, or one inside of it, says of an attribute that it is personal or mentions somebody."""
    return any(True for _ in _said_in(kind))


def mentioned_in(kind: Any) -> list[Any]:
    """The attributes of entities by which values of a type mention somebody."""
    return [target for names in _said_in(kind) for target in names.mentions.values()]


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a JSON value, or in one of dataclasses, as JSON has them: those of bytes and of times too."""
    rest = [value]
    while rest:
        each = rest.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, _TEXTS_IN_JSON):
            yield str(msgspec.to_builtins(each))
        elif is_object(each):
            rest += each.values()
        elif is_array(each) or isinstance(each, (set, frozenset)):
            rest += each
        elif isinstance(each, Struct) or dataclasses.is_dataclass(each):
            rest += _held(each).values()


def personal_texts(value: Any, names: PersonalNames = SAYS_NOTHING) -> Iterator[str]:
    """The texts in what is declared personal in a value. `names` is for one that is not a dataclass: arguments."""
    if is_array(value) or isinstance(value, (set, frozenset)):
        for member in cast("Collection[Any]", value):
            yield from personal_texts(member)
    elif is_object(value) or isinstance(value, Struct) or dataclasses.is_dataclass(value):
        kind: Any = type(value)
        own = names_in(kind) if dataclasses.is_dataclass(value) else names
        for name, each in (value if is_object(value) else _held(value)).items():
            yield from texts_in(each) if name in own.personal else personal_texts(each)


def hidden(raw: Any, value: Any, hide: Callable[[Any], Any], names: PersonalNames = SAYS_NOTHING) -> Any:
    """The JSON of a value, with `hide` of each part that is declared to be personal or to name somebody.

    `names` is for one that is not a dataclass: arguments, and JSON. A part that its class does not declare is hidden.
    """
    if is_object(raw):
        kind: Any = type(cast("object", value))
        own, held = (names_in(kind) if dataclasses.is_dataclass(value) else names), _held_in_json(value)
        return {
            name: hide(part)
            if name in own.personal or name in own.mentions or name not in held
            else hidden(part, held[name], hide)
            for name, part in raw.items()
        }
    if is_array(raw) and is_array(value):
        return [hidden(part, member, hide) for part, member in zip(raw, value, strict=True)]
    is_set = isinstance(value, (set, frozenset))
    return hide(raw) if is_set and any(map(dataclasses.is_dataclass, cast("Collection[Any]", value))) else raw


def _held_in_json(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Struct):
        return {
            name: getattr(value, own)
            for name, own in zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        }
    return value if is_object(value) else _held(value)


class Erased:
    """The erased persons, and the texts of theirs that are known so far."""

    def __init__(self, subjects: Sequence[Subject], principal: Any = None) -> None:
        self.subjects, self.principal = subjects, principal
        self.ids = frozenset(map(str, () if principal is None else self.values_of(principal)))
        """The principals of their mutations."""
        self.texts: set[str] = set()
        """The texts by which a personal value is known to be theirs."""
        self._personal: set[str] = set()
        self._undeclared: set[str] = set()
        self._names: set[str] = set()

    def without_texts(self) -> Erased:
        """The same persons, for another family of documents."""
        return Erased(self.subjects, self.principal)

    def is_by(self, principal: str | None) -> bool:
        """Whether a mutation with this principal is theirs."""
        return principal is not None and principal in self.ids

    def values_of(self, target: Any) -> list[Any]:
        """The values by which an attribute that says `mentions=` names them."""
        handle = target_of("a document", "mentions", target)
        named = [subject for subject in self.subjects if issubclass(subject.kind, owner_of(handle))]
        return [value for subject in named if (value := subject.values.get(first_name(handle))) is not None]

    def learn(self, texts: Iterable[str], *, are_personal: bool) -> None:
        """Take in texts of a mutation of theirs; `are_personal`: it is declared that they are."""
        own = self._personal if are_personal else self._undeclared
        own |= {text for text in texts if text and text != ERASED}

    @property
    def guesses(self) -> bool:
        """Whether texts were learned that may be anything, as ids of items and names of others."""
        return bool(self._undeclared)

    def settle(self, names: Iterable[str] = ()) -> None:
        """Decide what is theirs: not `names`, which are ids of items and principals, nor a value of a mention."""
        self._names |= set(names)
        self.texts = self._personal | (self._undeclared - self._names)

    def taken_out(self, value: Any, names: PersonalNames = SAYS_NOTHING, *, own: bool = False) -> Any:
        """A value without them: the same object where nothing has to go.

        `names` is for an object that is not a dataclass: arguments, and JSON. `own`: it is in a mutation of theirs.
        """
        if is_object(value):
            return self._object(dict(value), value, names, partial(_empty_json), own=own)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._members(value, own=own)
        if isinstance(value, Struct) or dataclasses.is_dataclass(value):
            kind: Any = type(cast("object", value))
            target = names if isinstance(value, Struct) else names_in(kind)
            return self._object(_held(value), value, target, partial(_empty_in, kind), own=own)
        return value

    def _members(self, value: Any, *, own: bool) -> Any:
        members = [self.taken_out(member, own=own) for member in value]
        is_same = all(one is other for one, other in zip(members, value, strict=True))
        return value if is_same else getattr(value, "_make", value.__class__)(members)  # a named tuple has `_make`

    def _object(
        self,
        held: dict[str, Any],
        value: Any,
        names: PersonalNames,
        empty: Callable[[str, Any], Any],
        *,
        own: bool,
    ) -> Any:
        after = {name: self.taken_out(each, own=own) for name, each in held.items()}
        after = self.cleared(after, names, empty, own=own)
        changes = {name: each for name, each in after.items() if each is not held[name]}
        if not changes:
            return value
        if is_object(value):
            return after
        return (
            msgspec.structs.replace(value, **changes)
            if isinstance(value, Struct)
            else dataclasses.replace(value, **changes)
        )

    def cleared(
        self, values: Mapping[str, Any], names: PersonalNames, empty: Callable[[str, Any], Any], *, own: bool = False
    ) -> dict[str, Any]:
        """The values of an object's attributes without mentions of them, and without what is personal beside one.

        `empty` makes the value of an attribute that says nothing.
        """
        after, is_theirs = dict(values), own
        for name, target in names.mentions.items():
            for wanted in self.values_of(target):
                if mentions(after.get(name), wanted):
                    after[name] = without_mention(after[name], wanted, partial(empty, name, after[name]))
                    is_theirs = True
            self._names |= set(texts_in(after.get(name)))
        for name in names.personal:
            if (held := after.get(name)) is not None and (is_theirs or not self.texts.isdisjoint(texts_in(held))):
                nothing = empty(name, held)
                after[name] = held if nothing == held else nothing
        return after


def _held(value: Any) -> dict[str, Any]:
    names = (
        value.__struct_fields__ if isinstance(value, Struct) else [field.name for field in dataclasses.fields(value)]
    )
    return {name: getattr(value, name) for name in names}


def _empty_json(name: str, held: Any) -> Any:
    return ERASED if isinstance(held, str) else None


def _empty_in(kind: type[Any], name: str, held: Any) -> Any:
    """Its default, None, or `(erased)`. DeclarationError if no value of an attribute says nothing."""
    described: Any = inspect.type_info(kind)
    info = next(each for each in described.fields if each.name == name)
    if info.default is not NODEFAULT:
        return info.default
    if info.default_factory is not NODEFAULT:
        return info.default_factory()
    types: Collection[Any] = info.type.types if isinstance(info.type, inspect.UnionType) else (info.type,)
    if any(isinstance(each, inspect.NoneType) for each in types):
        return None
    if isinstance(held, str) and any(map(_takes_erased, types)):
        return ERASED
    if isinstance(held, _MAY_BE_EMPTY) and any(isinstance(each, _EMPTY) and not each.min_length for each in types):
        return type(cast("Any", held))()
    raise no_empty_value(f"{kind.__name__}.{name}")


_MAY_BE_EMPTY = (list, tuple, set, frozenset, dict, bytes)
_EMPTY = (
    inspect.ListType,
    inspect.VarTupleType,
    inspect.SetType,
    inspect.FrozenSetType,
    inspect.DictType,
    inspect.BytesType,
)
"""The types that have an empty value: a tuple of a length, and an object of declared members, have none."""


def _takes_erased(described: Any) -> bool:
    """Whether a type takes the text `(erased)`: not an enum, a choice of texts, or a short one."""
    if not isinstance(described, inspect.StrType):
        return isinstance(described, inspect.AnyType)
    least, most = described.min_length or 0, described.max_length or len(ERASED)
    return least <= len(ERASED) <= most and re.search(described.pattern or "", ERASED) is not None


def no_empty_value(where: str) -> DeclarationError:
    return DeclarationError(
        f"{where} is personal or names somebody, and has no value that says nothing",
        hint="Declare it with `| None`, or with a default.",
    )
