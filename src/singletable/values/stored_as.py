"""Codecs of an application's own: values of any type, stored as values of another one.

    Money = Annotated[Price, StoredAs(str, Price.to_text, Price.from_text)]

    class Order(Entity, ...):
        total: Money                            # a Price in Python, a text in DynamoDB
        rows: list[Money]

Such a type stands wherever a type does, and the compiled reader and writer call the two functions. Expiry's seconds
since 1970, as other programs store them, are of this kind: `EpochSeconds`, `EpochMilliseconds`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from singletable.errors import InvalidValue, SingletableError
from singletable.values.checks import in_utc
from singletable.values.exact import wanted
from singletable.values.plans import Form, Scalar, ValuePlan
from singletable.values.source import Source
from singletable.values.untyped import AttributeValue

Convert = Callable[[Any], Any]


class StoredAs(Struct, frozen=True, eq=False):
    """How the values of a type are stored: in `Annotated[Price, StoredAs(str, to_text, from_text)]`.

    What `load` gives of what `dump` gave has to equal the value. `dump` raises ValueError or InvalidValue for a value
    that can't be stored, `load` ValueError for a stored one that is not of the type.
    """

    stored: Any
    """The type whose values are stored: any that an attribute may have."""
    dump: Convert
    load: Convert
    name: str = ""
    """The name of the form in the table's record, by default the type's: with another one, `plan` asks."""

    def plan(self, kind: Any, stored: ValuePlan) -> ValuePlan:
        """The plan of a type, by that of its stored values."""
        name = self.name or getattr(kind, "__name__", str(kind))
        dump, load = _dumping(kind, name, self.dump), _loading(self.load)
        return (
            scalar_as(stored, name, dump, load)
            if isinstance(stored, Scalar)
            else ConvertedPlan(stored, name, dump, load)
        )


def scalar_as(stored: Scalar, name: str, dump: Convert, load: Convert) -> Scalar:
    """A type with values that are stored as those of a scalar: in sets, masks and columns it is one."""
    reader: Convert = stored.reader or _same

    def check(value: Any) -> Any:
        return stored.check(dump(value))

    def parse(inner: Any) -> Any:
        return load(stored.parse(inner))

    def read(inner: Any) -> Any:
        return load(reader(inner))

    changes = {"parse": parse, "check": check, "reader": load if stored.reader is None else read}
    own = {"fast_check": "", "stored": stored, "name": name, "choices": (), "names": ()}
    return msgspec.structs.replace(stored, **changes, **own)


def _same(value: Any) -> Any:
    return value


class ConvertedPlan(ValuePlan, frozen=True, eq=False):
    """A type with values that are stored as those of another one, which is not a scalar."""

    inner: ValuePlan
    name: str
    dump: Convert
    convert: Convert

    @property
    def wire(self) -> Any:
        return self.inner.wire

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(self.convert, 'load')}({self.inner.read(source, name)})"

    def write(self, source: Source, name: str) -> str:
        v = source.fresh("v")
        return f"({v} := {source.bind(self.dump, 'dump')}({name}), {self.inner.write(source, v)})[1]"

    def load(self, value: AttributeValue) -> Any:
        return self.convert(self.inner.load(value))

    @property
    def form(self) -> Form:
        return {"as": self.name, "of": self.inner.form}


def _dumping(kind: Any, name: str, dump: Convert) -> Convert:
    """The application's function, behind a check of the type; its errors are of the value, which they don't quote."""
    checked = kind if isinstance(kind, type) and kind is not Any else object

    def dumped(value: Any) -> Any:
        if value is None or not isinstance(value, checked):
            raise wanted(f"a {name}", value)
        try:
            return dump(value)
        except SingletableError:
            raise
        except Exception as error:  # the application's own code
            raise InvalidValue(
                f"a {name} that its codec can't store: {type(error).__name__}",
                hint="Correct the value, or the function that StoredAs has for it.",
            ) from None

    return dumped


def _loading(load: Convert) -> Convert:
    def loaded(stored: Any) -> Any:
        try:
            return load(stored)
        except SingletableError:
            raise
        except Exception as error:  # the application's own code
            raise ValueError(f"the stored value is refused by its codec: {type(error).__name__}") from None

    return loaded


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _since_epoch(unit: timedelta, words: str) -> tuple[Convert, Convert]:
    """Both functions of a time as a whole number of a unit."""

    def dump(value: datetime) -> int:
        whole, rest = divmod(in_utc(value) - _EPOCH, unit)
        if rest:
            raise InvalidValue(
                f"a time with parts of a {words}, for an attribute of whole ones",
                hint="Cut them off with replace(microsecond=...), or declare a datetime.",
            )
        return whole

    def load(stored: int) -> datetime:
        return _EPOCH + stored * unit

    return dump, load


EpochSeconds = Annotated[datetime, StoredAs(int, *_since_epoch(timedelta(seconds=1), "second"), "epoch seconds")]
"""A datetime as the whole seconds since 1970, a number, as many programs store times. Parts of a second are refused."""
EpochMilliseconds = Annotated[
    datetime, StoredAs(int, *_since_epoch(timedelta(milliseconds=1), "millisecond"), "epoch milliseconds")
]
"""A datetime as the whole milliseconds since 1970, a number, as JavaScript's `Date.now()` gives them."""
