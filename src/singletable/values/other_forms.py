"""Forms in which other programs store values: flags as numbers or texts, times to the millisecond, JSON in a text.

active: ZeroOne                                     # True is 1
created: IsoMilliseconds                            # "2026-01-31T09:30:00.000Z", as JavaScript's toISOString() gives it
meta: Annotated[dict[str, Any], json_text]          # '{"a":1}'
changed: Annotated[IsoMilliseconds, ReadsAlso(EpochSeconds)]     # one attribute in two forms: the first is written
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Struct

from singletable.errors import DeclarationError, InvalidValue
from singletable.values.checks import in_utc
from singletable.values.plans import Form, Scalar, ValuePlan
from singletable.values.source import Source
from singletable.values.stored_as import StoredAs
from singletable.values.untyped import AttributeValue


def _choice(*stored: Any) -> Callable[[Any], bool]:
    """The function that reads a flag which is stored as one of two values."""
    values = dict(zip(stored, (False, True), strict=True))
    return values.__getitem__


def _flag_text(value: bool) -> str:
    return "true" if value else "false"


def _milliseconds(value: datetime) -> str:
    at = in_utc(value)
    if at.microsecond % 1000:
        raise InvalidValue(
            "a time with parts of a millisecond, for an attribute of whole ones",
            hint="Cut them off with replace(microsecond=...), or declare a datetime.",
        )
    return f"{at.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _python_iso(value: datetime) -> str:
    return in_utc(value).isoformat()


def _pynamo_iso(value: datetime) -> str:
    return f"{in_utc(value).replace(tzinfo=None).isoformat(timespec='microseconds')}+0000"


def _time_by(written: Callable[[datetime], str]) -> Callable[[str], datetime]:
    """The function that reads a time, and only in the form in which it is written."""

    def read(stored: str) -> datetime:
        value = datetime.fromisoformat(stored)
        try:
            is_same = written(value) == stored
        except InvalidValue:  # a part of a second that the form doesn't hold
            is_same = False
        if not is_same:
            raise ValueError("the stored time is in another form than is written: declare that one, or a str")
        return value.astimezone(timezone.utc)

    return read


def _compact(value: Any) -> str:
    import json  # noqa: PLC0415 few programs store texts of JSON

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _json_float(text: str) -> float:
    value = float(text)
    if Decimal(repr(value)) != Decimal(text):
        raise ValueError("the stored JSON has a number that no float holds: declare a str, or a type of your own")
    return value


def _json_constant(text: str) -> float:
    raise ValueError("the stored text is not JSON, which has neither NaN nor Infinity")


def _read_json(stored: str) -> Any:
    import json  # noqa: PLC0415 as above

    return json.loads(stored, parse_float=_json_float, parse_constant=_json_constant)


ZeroOne = Annotated[bool, StoredAs(int, int, _choice(0, 1), "0 or 1")]
"""A bool as the number 0 or 1."""
TrueText = Annotated[bool, StoredAs(str, _flag_text, _choice("false", "true"), "true or false")]
"""A bool as the text "true" or "false"."""
IsoMilliseconds = Annotated[datetime, StoredAs(str, _milliseconds, _time_by(_milliseconds), "ISO milliseconds")]
"""A datetime as a text with three decimals and Z, as JavaScript gives it. Smaller parts are refused."""
PythonIso = Annotated[datetime, StoredAs(str, _python_iso, _time_by(_python_iso), "Python ISO")]
"""A datetime as `datetime.isoformat()` gives it in UTC: with +00:00, and with six decimals or none."""
PynamoIso = Annotated[datetime, StoredAs(str, _pynamo_iso, _time_by(_pynamo_iso), "PynamoDB ISO")]
"""A datetime as PynamoDB's UTCDateTimeAttribute gives it: with six decimals and +0000."""
json_text = StoredAs(str, _compact, _read_json, "JSON text")
"""A value of JSON as a text without spaces, as `JSON.stringify` gives it: in `Annotated[dict[str, Any], json_text]`. A
text that is changed and written again has this form, whatever spaces it had. A number that no float holds is refused
when it is read, as it would lose digits."""


class ReadsAlso(Struct, frozen=True, eq=False):
    """Another form of an attribute, read and not written: in `Annotated[datetime, ReadsAlso(EpochSeconds)]`.

    The form that is written, and that conditions and filters compare with, is that of the annotated type. They are of
    different types in DynamoDB, as a text and a number are.
    """

    kind: Any
    """The type, as an attribute is declared, whose stored form is read too."""


class EitherForm(Scalar, frozen=True, eq=False):
    """A value in one of two forms. It is written as the scalar says that it is otherwise."""

    also: Scalar | None = None

    @property
    def wire(self) -> Any:
        return Any

    def read(self, source: Source, name: str) -> str:
        return f"{source.bind(self.load, 'load')}({name})"

    def load(self, value: AttributeValue) -> Any:
        return self.also.load(value) if self.also is not None and self.also.tag in value else Scalar.load(self, value)

    @property
    def form(self) -> Form:
        assert self.also is not None
        return {"written": Scalar.form.__get__(self), "read": self.also.form}


def either_of(written: ValuePlan, also: ValuePlan) -> EitherForm:
    """The plan of an attribute in two forms. DeclarationError for two that can't be told from each other."""
    if not isinstance(written, Scalar) or not isinstance(also, Scalar) or written.tag == also.tag:
        raise DeclarationError(
            "an attribute in two forms is one text, number or flag in each, and not of the same type in both",
            hint="As in Annotated[datetime, ReadsAlso(EpochSeconds)].",
        )
    return EitherForm(**{name: getattr(written, name) for name in Scalar.__struct_fields__}, also=also)
