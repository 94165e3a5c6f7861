"""Items in Ion, as DynamoDB exports them: read into the form that a scan gives them.

A number is an Ion decimal, bytes are a blob, a set is a list with an annotation, `$dynamodb_SS::["a", "b"]`. Ion keeps
a number's value and not its text, so a number comes out as DynamoDB writes it: all its digits, and no exponent.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import IO, Any, Final

from singletable.errors import Corrupt, NotConfigured

_SETS: Final = {"$dynamodb_SS": "SS", "$dynamodb_NS": "NS", "$dynamodb_BS": "BS"}
_SMALLEST, _LARGEST = -130, 125
"""The exponents of the first digits of DynamoDB's numbers."""


def read_ion(file: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    """The structs of a stream of Ion, text or binary. NotConfigured where amazon.ion is not installed."""
    try:
        ion: Any = import_module("amazon.ion.simpleion")  # an extra, which an export in JSON does not need
    except ImportError:
        raise NotConfigured(
            "an export in Ion needs amazon.ion",
            hint="Install it: python -m pip install amazon.ion. It has wheels for Python 3.13 and older; an export in "
            "DynamoDB's JSON needs no such package.",
        ) from None
    try:
        # Values without an annotation are plain Python values, which makes reading twice as fast.
        bare = ion.IonPyValueModel.MAY_BE_BARE
        yield from ion.load(file, single_value=False, parse_eagerly=False, value_model=bare)
    except ion.IonException:  # its text may quote the file
        raise Corrupt("it is no Ion, or cut short") from None


def ion_item(attributes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """An item from its struct; Corrupt for a value that no attribute can be."""
    return {str(name): _value(value) for name, value in attributes.items()}


def _value(value: Any) -> dict[str, Any]:
    if value is None or type(value).__name__ == "IonPyNull":
        return {"NULL": True}
    if isinstance(value, bool) or type(value).__name__ == "IonPyBool":
        return {"BOOL": bool(value)}
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, (Decimal, int)):
        return {"N": number_text(Decimal(value))}
    if isinstance(value, (bytes, bytearray)):
        return {"B": _text(value)}
    if isinstance(value, Mapping):
        return {"M": ion_item(value)}
    if isinstance(value, Sequence):
        return _list(value)
    raise Corrupt(f"an attribute is of the Ion type {type(value).__name__}, which DynamoDB has not")


def _list(values: Sequence[Any]) -> dict[str, Any]:
    for annotation in getattr(values, "ion_annotations", ()):
        kind = _SETS.get(str(annotation.text))
        if kind is not None:
            member = kind[0]
            return {kind: [_value(value)[member] for value in values]}
    return {"L": [_value(value) for value in values]}


def number_text(number: Decimal) -> str:
    """A number as DynamoDB writes it: `6E+2` is `600`, `1.50` is `1.5`. Corrupt for one that it has not, which may have
    more digits than fit into memory."""
    if not number.is_finite() or (number and not _SMALLEST <= number.adjusted() <= _LARGEST):
        raise Corrupt("a number is none of DynamoDB's: these are between 1E-130 and 1E+126")
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _text(value: bytes | bytearray) -> str:
    return b64encode(value).decode()
