"""Generated code: for each dataclass a reader and a writer, compiled from its plans.

Why: a generic walk over attribute values costs 10 to 70 us an item in Python; straight-line code compiled for one
class costs 3 to 4, most of which is spent in msgspec's C. For a class

    class User(Entity, ...):        # stored as {"pk": ..., "sk": ..., "_type": "user", "_v": 1, "email": ..., ...}
        email: str
        age: int
        phone: str | None = None
        groups: set[str]

the module below writes, and compiles once, on the class's first use:

    struct Wire:                    # msgspec decodes the response's bytes straight into these, and refuses other names
        g0: {"S": "user"}; g1: {"N": 1}     # the guards: another type or version fails, and takes the slow path alone
        x0: Raw = None; ...         # what else the library stores, such as the keys of indexes: not looked at
        f0: {"S": str}; f1: {"N": int}; f2: {"S": str} | None = None; f3: {"SS": set[str]} | None = None

    def build(w):                   # struct -> entity
        o = new(User)
        o.email = w.f0.S
        o.age = w.f1.N
        o.phone = None if (x := w.f2) is None else x.S
        o.groups = set() if (x := w.f3) is None else x.SS
        return o

    def dump(o):                    # entity -> item; each value's type is checked, as a dataclass checks nothing
        d = {"pk": {"S": key0(o)}, ..., "_type": TYPE, "_v": VERSION}
        v = o.email
        d["email"] = {"S": v if v.__class__ is str else text(v)}
        ...
        return d if o.__undeclared__ is None else completed(d, o)   # what a newer program wrote: see `undeclared`

Everything that msgspec refuses, or that the guards turn away, is read again by `Codec.load`, attribute by attribute,
with the same plans: that path names the attribute in its error. Both paths give the same values (a property test).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import msgspec
from msgspec import Raw

from singletable.errors import Corrupt, InvalidRequest, InvalidValue, SingletableError
from singletable.values.checks import name_owner
from singletable.values.fields import Constant, Derived, Field
from singletable.values.key_lines import KeyText, key_lines, key_reads
from singletable.values.plans import wire_struct
from singletable.values.source import Source
from singletable.values.undeclared import (
    AsRead,
    as_read_of,
    carry,
    reading_inside,
    writing_inside,
)
from singletable.values.untyped import AttributeValue

T = TypeVar("T")

_NOTHING: Mapping[str, Any] = {}


class Forms(Protocol):
    """The part of a codec that `values.stored_forms` has for foreign classes."""

    def reading(self, fields: Sequence[Field]) -> Sequence[Field]: ...
    def lines(self, fields: Sequence[Field], source: Source, learned: Sequence[str]) -> Sequence[str]: ...
    def learned(self, known: Sequence[str], names: Collection[str]) -> tuple[str, ...]: ...
    def kept(self, read: Mapping[str, Any], item: Mapping[str, AttributeValue], fields: Sequence[Field]) -> AsRead: ...


class Codec(Generic[T]):
    """A class's item, in both directions. Made once for each class; safe in threads."""

    def __init__(
        self,
        kind: type[T],
        fields: Sequence[Field],
        constants: Sequence[Constant] = (),
        derived: Sequence[Derived] = (),
        keys: Sequence[KeyText] = (),
        whole: bool = True,
        beside: Collection[str] | None = (),
        forms: Forms | None = None,
        learned: tuple[str, ...] = (),
    ) -> None:
        """`whole` is false for a part of the attributes: such an object is not completed by `__post_init__`.
        `beside` are names that an item may have, and that no object carries; None for any name. `forms`, of a foreign
        class, let objects carry attributes in another form than is written, and `learned` are names that they carry.

        `build` checks `keys`; `load` does not, and reads items whose key does not match.
        """
        self.kind, self._whole = kind, whole
        self._carries = beside is not None and whole and not _may_be_shared(kind)
        self._forms, self._learned = (forms, learned) if self._carries else (None, ())
        self._again = partial(Codec[T], kind, fields, constants, derived, keys, whole, beside, forms)
        self.fields = tuple(fields)
        self.by_name: Mapping[str, Field] = {f.name: f for f in fields}
        source = Source()
        read = fields if self._forms is None else self._forms.reading(fields)
        self.wire: Any = _wire_struct(kind, read, constants, keys, beside if self._carries else None, learned)
        parts = [part for part in msgspec.structs.fields(self.wire) if part.encode_name not in learned]
        self.known = frozenset(part.encode_name for part in parts)
        """The names that an item may have, and that its object does not carry."""
        self._read = frozenset(part.encode_name for part in parts if part.type is not Raw)
        carrying: Sequence[str] = () if self._forms is None else self._forms.lines(fields, source, learned)
        build = _build_lines(kind, read, whole, source, keys, carrying)
        self._source, self._build_lines, self._written = source, build, (constants, derived)
        source.define(build, f"codec of {kind.__qualname__}")
        self.build: Callable[[Any], T] = source.names["build"]
        """The wire struct's object; raises ValueError or LookupError for `load` to explain."""

    @cached_property
    def _dump(self) -> Callable[[T], dict[str, AttributeValue]]:
        """Compiled by the first write: many programs only read."""
        from singletable.values.dump_lines import dump_lines, dumped  # noqa: PLC0415 as its docstring says

        source = Source()
        lines = [
            *dump_lines(self.fields, *self._written, source),
            f"    return {dumped(self.kind, self.known, source)}",
        ]
        source.define(lines, f"codec of {self.kind.__qualname__}")
        return source.names["dump"]  # type: ignore[no-any-return]

    def with_writer(self) -> Self:
        """Compile the writer at once: that a class is inside of itself, its plan knows while it is compiled alone."""
        _ = self._dump
        return self

    @cached_property
    def build_all(self) -> Callable[[Sequence[Any]], list[T]]:
        """The objects of many wire structs, without a call for each. Compiled when a page has many."""
        _, *body, _ = self._build_lines
        lines = ["def build_all(ws):", "    all = []", "    for w in ws:", *(f"    {line}" for line in body)]
        self._source.define([*lines, "        all.append(o)", "    return all"], f"codec of {self.kind.__qualname__}")
        return self._source.names["build_all"]  # type: ignore[no-any-return]

    def dump(self, value: T) -> dict[str, AttributeValue]:
        """The item of an object, all attributes; InvalidValue names the attribute that does not fit its type."""
        try:
            return self._dump(value)
        except (InvalidValue, AttributeError, KeyError) as error:
            raise self._explain(value, error) from error

    def dump_within(self, value: T) -> dict[str, AttributeValue]:
        """The item of an object inside an item. The item's own codec finds the attribute that does not fit: if each
        level asked the next, the time would double with every level."""
        try:
            return self._dump(value)
        except (AttributeError, KeyError) as error:
            raise self._explain(value, error) from error

    def load(self, item: Mapping[str, AttributeValue], known: Mapping[str, Any] = _NOTHING) -> T:
        """The object of an item, attribute by attribute; Corrupt names the one that can't be read.

        `known` has the values of attributes that the item may lack.
        """
        carrying = self.load_carrying(item)
        if carrying is not None:
            return carrying
        with reading_inside() as slotted:
            values = {
                f.name: known[f.name] if f.name in known and f.stored not in item else self._load_field(f, item)
                for f in self.fields
            }
        with writing_inside(slotted):
            as_read: AsRead = {} if self._forms is None else self._forms.kept(values, item, self.fields)
        made = self.make(values)  # whose class may change what was read
        undeclared = self._undeclared(item)
        if undeclared or as_read or (slotted and self._whole and not _may_be_shared(self.kind)):
            carry(made, undeclared, slotted, as_read)
        return made

    def load_carrying(self, item: Mapping[str, AttributeValue]) -> T | None:
        """The object of an item with undeclared attributes, by the compiled reader; None where that can't read it, or
        the item has none."""
        undeclared = self._undeclared(item)
        if not undeclared:
            return None
        declared = {name: item[name] for name in self._read & item.keys()}
        try:
            made = self.build(msgspec.convert(declared, self.wire, strict=False))
        except Exception:  # also from the class's own code
            return None
        carry(made, undeclared, (), as_read_of(made))
        return made

    def knowing(self, names: Collection[str]) -> Codec[T]:
        """A codec that reads undeclared attributes of these names in the compiled way; itself, where that changes
        nothing. It takes the place of this one as a whole: its reader and wire type belong together."""
        learned = self._learned if self._forms is None else self._forms.learned(self._learned, names)
        return self if learned == self._learned else self._again(learned=learned)

    def _undeclared(self, item: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
        return {name: item[name] for name in item.keys() - self.known} if self._carries else {}

    def make(self, values: Mapping[str, Any]) -> T:
        """The object of some or all of its attributes' values."""
        if not _fills_attributes(self.kind):
            return self.kind(**values)
        made: Any = object.__new__(self.kind)
        made.__dict__.update(values)
        if self._whole and hasattr(made, "__post_init__"):
            made.__post_init__()
        return made  # type: ignore[no-any-return]

    def _load_field(self, field: Field, item: Mapping[str, AttributeValue]) -> Any:
        stored = item.get(field.stored)
        try:
            if stored is None or ("NULL" in stored and field.may_be_absent and not field.plan.holds_none):
                return field.absent()
            return field.plan.load(stored)
        except SingletableError as error:
            if error.attribute is not None:  # of an object inside of the item
                error.attribute = f"{field.stored}.{error.attribute}"
            raise
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            raise Corrupt(
                f"an item of {self.kind.__name__} can't be read: {_reason(error)}",
                attribute=field.stored,
                hint="Correct the item, or declare the attribute's stored type.",
            ) from None  # the standard library's errors quote the value

    def _explain(self, value: T, error: InvalidValue | AttributeError | KeyError) -> SingletableError:
        for field in (f for f in self.fields if f.is_written):
            if not hasattr(value, field.name):
                return InvalidRequest(
                    f"{self.kind.__name__}.{field.name} was not loaded, so the whole can't be written",
                    attribute=field.name,
                    hint="Read it without only(...), or update() what you mean to change.",
                )
            try:
                single = Codec(_AttributeHolder, [field])
                single._dump(_AttributeHolder(**{field.name: getattr(value, field.name)}))
            except InvalidValue as found:
                return InvalidValue(found.what, hint=found.hint, attribute=f"{self.kind.__name__}.{field.name}")
        if isinstance(error, InvalidValue):
            name_owner(error, self.kind)
            return error
        raise error


class _AttributeHolder:
    """Something with one attribute, to try it alone."""

    def __init__(self, /, **values: Any) -> None:
        self.__dict__.update(values)


def _fills_attributes(kind: type[Any]) -> bool:
    """Whether an object may be made by setting its attributes: a dataclass that is neither frozen nor slotted."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return not getattr(parameters, "frozen", False) and "__slots__" not in kind.__dict__


def _may_be_shared(kind: Any) -> bool:
    """Whether a class may give one object for the same values: what one item has would be written into others."""
    return not _fills_attributes(kind) and bool(kind.__dictoffset__) and kind.__new__ is not object.__new__


def _wire_struct(
    kind: type[Any],
    fields: Sequence[Field],
    constants: Sequence[Constant],
    keys: Sequence[KeyText],
    beside: Collection[str] | None,
    learned: Sequence[str],
) -> Any:
    """The type of an item. Without `beside` it takes any other name, too."""
    stored = [(f"f{i}", f) for i, f in enumerate(fields) if not f.is_in_key]
    read = {f.stored for _, f in stored}
    own = {f"k{i}": key for i, key in enumerate(keys) if key.stored not in read}
    texts: list[Any] = [
        (name, wire_struct(k.tag, str if k.pieces or k.same_as else Literal[k.end])) for name, k in own.items()
    ]
    named = [(f"g{i}", c) for i, c in enumerate(constants)]
    specification: list[Any] = [(name, c.wire) for name, c in named if not c.may_be_absent]
    required = [(name, f.plan.wire) for name, f in stored if not f.may_be_absent]
    absent = [(name, f.plan.wire | None, None) for name, f in stored if f.may_be_absent]
    absent += [(name, c.wire | None, None) for name, c in named if c.may_be_absent]
    rename = {name: c.stored for name, c in named} | {name: f.stored for name, f in stored}
    rename |= {name: key.stored for name, key in own.items()} | {f"y{i}": name for i, name in enumerate(learned)}
    absent += [(f"y{i}", dict[str, Any], None) for i in range(len(learned))]
    others = {f"x{i}": name for i, name in enumerate(sorted({*(beside or ())} - {*rename.values()}))}
    absent += [(name, Raw, None) for name in others]
    return msgspec.defstruct(
        f"{kind.__name__}Wire",
        [*specification, *texts, *required, *absent],
        rename=rename | others,
        forbid_unknown_fields=beside is not None,
        gc=False,
    )


def _build_lines(
    kind: type[Any],
    fields: Sequence[Field],
    whole: bool,
    source: Source,
    keys: Sequence[KeyText],
    carrying: Sequence[str],
) -> list[str]:
    checks, in_keys = key_lines(fields, keys, source), key_reads(keys, source)
    reads = [
        (f.name, in_keys[f.name] if f.is_in_key and f.name in in_keys else _read(f, f"f{i}", source))
        for i, f in enumerate(fields)
    ]
    made = source.bind(kind, "kind")
    if not _fills_attributes(kind):
        arguments = ", ".join(f"{name}={expression}" for name, expression in reads)
        return ["def build(w):", f"    o = {made}({arguments})", *carrying, "    return o"]
    new = source.bind(object.__new__, "new")
    lines = ["def build(w):", f"    o = {new}({made})"]
    lines += [f"    o.{name} = {expression}" for name, expression in reads]
    lines += carrying  # before the class changes what was read
    if whole and hasattr(kind, "__post_init__"):
        lines.append("    o.__post_init__()")
    return [*lines, *checks, "    return o"]


def _read(field: Field, attribute: str, source: Source) -> str:
    if not field.may_be_absent:
        x = source.fresh("x")
        expression = field.plan.read(source, x)
        if _plain(expression, x):
            return expression.replace(f"{x}.", f"w.{attribute}.")
        return f"({x} := w.{attribute}, {expression})[1]"
    x = source.fresh("x")
    absent = "None" if field.optional else f"{source.bind(field.absent, 'absent')}()"
    return f"{absent} if ({x} := w.{attribute}) is None else {field.plan.read(source, x)}"


def _plain(expression: str, name: str) -> bool:
    """Whether the name stands once, with its content taken at once, so that it can be written out in place."""
    return expression.count(f"{name}.") == 1 and expression.count(name) == 1


def _reason(error: Exception) -> str:
    """Why a value can't be read, without the value: our own words, or the kind of the standard library's error."""
    said = str(error)
    ours = ("stored as", "the stored", "it is not there", "an attribute value")
    return said if said.startswith(ours) else f"the stored text is not a value of its type ({type(error).__name__})"
