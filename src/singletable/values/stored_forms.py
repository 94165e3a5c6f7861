"""The law of a table that another program writes: an object that is read, and put as it is, leaves the item's bytes.

A type reads more forms than it writes: a time with +00:00, a UUID in capitals, JSON with spaces, a NULL for None. An
attribute with a default may lack. The compiled reader of a foreign class takes only what would be written so; the rest
takes the slow path, which lets the object carry what was stored. A write takes that, for as long as the attribute's
value is the one that was read.

    shift = db.get(Shift.of("ada"))    # stored: {"at": {"S": "2026-01-31T09:30:00+00:00"}}, and no `note`
    shift.done = True
    db.put(shift)                      # `at` has the same text afterwards, and there is no `note`

Undeclared attributes are usual there. A reader that met one reads its name in the compiled way from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from singletable.errors import SingletableError
from singletable.values.checks import read_instant
from singletable.values.fields import Field
from singletable.values.kinds import Kind
from singletable.values.numbers import read_float
from singletable.values.plans import FreePlan, ListPlan, MapPlan, Scalar, SetPlan, ValuePlan, writer_of
from singletable.values.source import Source
from singletable.values.types import NestedPlan, plans_within
from singletable.values.undeclared import AS_WRITTEN, UNDECLARED, AsRead, Undeclared
from singletable.values.untyped import AttributeValue
from singletable.values.value_types import EXPIRY, FLOAT, INSTANT, VALUE_TYPES

MOST_LEARNED = 24
"""Names of undeclared attributes that a compiled reader reads at most: a program may have one for each item."""
_OTHER_FORM = "the stored value is in another form than is written"
_EXACT_KINDS = frozenset({Kind.TEXT, Kind.FLAG, Kind.BYTES, Kind.INTEGER, Kind.DECIMAL, Kind.DAY})
"""The kinds whose compiled readers take one form alone."""
_NO_FORM: AttributeValue = {}
"""For a value that can be read and not written: no other form is the same, nor is None, for nothing."""
_CONTAINERS = (SetPlan, ListPlan, MapPlan, FreePlan)


def _read_instant(stored: str) -> Any:
    if len(stored) != 27 or (stored[7], stored[10], stored[13], stored[19], stored[26]) != ("-", "T", ":", ".", "Z"):
        raise ValueError(_OTHER_FORM)
    return read_instant(stored)


def _read_uuid(stored: str) -> UUID:
    value = UUID(stored)
    if str(value) != stored:
        raise ValueError(_OTHER_FORM)
    return value


_UUID = VALUE_TYPES[UUID].plan
_STRICT: Mapping[ValuePlan, ValuePlan] = {
    INSTANT: msgspec.structs.replace(INSTANT, reader=_read_instant),
    FLOAT: msgspec.structs.replace(FLOAT, reader=read_float),
    _UUID: msgspec.structs.replace(_UUID, inner=str, reader=_read_uuid),
}


class AsStored(ValuePlan, frozen=True, eq=False):
    """A plan whose values are read only where they would be written so."""

    inner: ValuePlan

    @property
    def wire(self) -> Any:
        return Any

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(self.load, 'load')}({name})"

    def load(self, value: AttributeValue) -> Any:
        loaded = self.inner.load(value)
        if not _is_same(_written(self.inner, loaded), value):
            raise ValueError(_OTHER_FORM)
        return loaded


def exactly(plan: ValuePlan) -> ValuePlan:
    """The plan whose compiled reader takes only what would be written so."""
    return _STRICT.get(plan) or (plan if all(map(_is_exact, plans_within(plan))) else AsStored(plan))


def _is_exact(plan: ValuePlan) -> bool:
    if isinstance(plan, NestedPlan):
        return not any(map(_has_default, plan.codec.fields))
    if type(plan) is Scalar:
        return plan is EXPIRY or (plan.stored is None and plan.kind in _EXACT_KINDS)
    return isinstance(plan, _CONTAINERS)


def _has_default(field: Field) -> bool:
    """Whether an item that lacks the attribute would be written with it."""
    return field.default is not None and not field.optional and not field.plan.is_set


class StoredForms:
    """The part of a foreign class's codec that reads strictly, and lets objects carry other forms."""

    def reading(self, fields: Sequence[Field]) -> list[Field]:
        """The fields of the compiled reader."""
        return [msgspec.structs.replace(field, plan=exactly(field.plan)) for field in fields]

    def lines(self, fields: Sequence[Field], source: Source, learned: Sequence[str]) -> list[str]:
        """The lines of the compiled reader that look for attributes which an item lacks and an object has, and for
        undeclared ones whose names were met before."""
        lacking = {f"f{i}": field for i, field in enumerate(fields) if _has_default(field) and not field.is_in_key}
        lines: list[str] = []
        if lacking:
            lacks = " or ".join(f"w.{place} is None" for place in lacking)
            lines += [f"    if {lacks}: {source.bind(_let_lack(lacking), 'lack')}(o, w)"]
        if learned:
            lines += ["    u = {}"]
            lines += [f"    if (x := w.y{i}) is not None: u[{name!r}] = x" for i, name in enumerate(learned)]
            before = f"(b := o.{UNDECLARED})"
            as_read = f"{source.bind(AS_WRITTEN, 'as_written')} if {before} is None else b.as_read"
            kept = f"{source.bind(Undeclared, 'undeclared')}(u, (), True, {as_read})"
            lines += [f"    if u: o.__dict__[{UNDECLARED!r}] = {kept}"]
        return lines

    def learned(self, known: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
        """The names of undeclared attributes that a reader knows after it met these: not more than it may know."""
        more = sorted(name for name in {*names}.difference(known) if name.isprintable() and not {*name} & {*'"\\'})
        return (*known, *more)[:MOST_LEARNED]

    def kept(self, read: Mapping[str, Any], item: Mapping[str, AttributeValue], fields: Sequence[Field]) -> AsRead:
        """The attributes whose stored form is another than would be written of the values that were read."""
        pairs = {f.stored: (_form_of(f, read[f.name]), item.get(f.stored)) for f in fields if f.is_written}
        return {name: pair for name, pair in pairs.items() if not _is_same(*pair)}


STORED_FORMS = StoredForms()


def _let_lack(lacking: Mapping[str, Field]) -> Callable[[Any, Any], None]:
    """The function that lets an object carry which attributes its item lacks. Objects share what is the same in all."""
    shared: dict[tuple[bool, ...], Undeclared] = {}
    places, fields = attrgetter(*lacking, "__class__"), tuple(lacking.values())  # of one name it makes no tuple

    def lack(entity: Any, wire: Any) -> None:
        absent = tuple([value is None for value in places(wire)])
        kept = shared.get(absent)
        if kept is None:
            lacks = [field for field, is_absent in zip(fields, absent, strict=False) if is_absent]
            kept = Undeclared({}, as_read={f.stored: (_form_of(f, getattr(entity, f.name)), None) for f in lacks})
            if len(shared) < MOST_LEARNED and not any(field.is_made for field in lacks):
                shared[absent] = kept
        vars(entity)[UNDECLARED] = kept

    return lack


def _form_of(field: Field, value: Any) -> AttributeValue | None:
    """The form in which an attribute's value is written; None if nothing is."""
    is_absent = (field.optional and value is None) or (field.plan.is_set and not value)
    return None if is_absent else _written(field.plan, value)


def _written(plan: ValuePlan, value: Any) -> AttributeValue:
    try:
        return msgspec.to_builtins(writer_of(plan)(value))  # type: ignore[no-any-return]
    except (SingletableError, AttributeError, KeyError):  # not a value of the type
        return _NO_FORM


def _is_same(one: AttributeValue | None, other: AttributeValue | None) -> bool:
    return one == other or bool(one and other and _canonical(one) == _canonical(other))


def _canonical(value: AttributeValue) -> Any:
    """A stored value with numbers by what they are, and sets without an order."""
    ((tag, inner),) = value.items()
    match tag:
        case "N":
            return tag, Decimal(inner)
        case "NS":
            return tag, frozenset(map(Decimal, inner))
        case "SS" | "BS":
            return tag, frozenset(inner)
        case "L":
            return tag, [*map(_canonical, inner)]
        case "M":
            return tag, {name: _canonical(each) for name, each in inner.items()}
        case _:
            return tag, inner
