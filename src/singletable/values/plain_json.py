"""Values as JSON that a person or an agent reads and writes: every stored value, and exact in both directions.

A declared type says what a text is. In `Any` nothing does: what JSON has no form for stands as in DynamoDB's JSON, and
so does a map that could be taken for one of these.

    int, Decimal 7, 12.50 · bytes "QWRh" · set ["a", "b"] · datetime, UUID and the like by the stored text
    in Any: {"B": "QWRh"} · {"SS": ["a"]} · {"NS": [7]} · {"BS": ["QWRh"]} · {"M": {"B": "not bytes"}}
            {"N": "0.1"} too, for a reader that would round the digits of a number
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import msgspec

from singletable.errors import Corrupt, InvalidValue
from singletable.values.codecs import Codec
from singletable.values.exact import named
from singletable.values.kinds import Kind
from singletable.values.plans import (
    FreePlan,
    ListPlan,
    MapPlan,
    OptionalPlan,
    Scalar,
    SetPlan,
    ValuePlan,
)
from singletable.values.stored_as import ConvertedPlan
from singletable.values.types import NestedPlan
from singletable.values.unions import UnionPlan
from singletable.values.untyped import AttributeValue, map_name, read_number

_SETS = {"SS": "S", "NS": "N", "BS": "B"}
_MARKS = frozenset({"B", "N", "M", *_SETS})
"""A map with one key, which is one of these, says what it is."""
_ENCODER = msgspec.json.Encoder(order="deterministic", decimal_format="number")
_SURE_DIGITS = 15
_AS_SHOWN = "Write it as the value that is there is shown."
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def exact_json(text: str | bytes) -> Any:
    """The value of a JSON text, numbers with all their digits. ValueError, RecursionError for what is not JSON, and for
    a name that stands twice in an object: one of the two values would be lost."""
    content = text.decode() if isinstance(text, bytes) else text
    if _SURROGATE.search(content):
        try:
            msgspec.json.decode(content)  # Python's own parser takes half a pair, which is not a character
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from None
    return json.loads(content, object_pairs_hook=_once, parse_float=Decimal, parse_constant=_not_a_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("an object has the same name twice")
    return values


def _not_a_number(_: str) -> Any:
    raise ValueError("NaN and Infinity are not numbers of JSON")


def plain_of(plan: ValuePlan, value: AttributeValue | None) -> Any:
    """A stored value as texts, numbers, truths, None, lists and dicts, as a JSON text says it. None is what is absent:
    None, or an empty set."""
    if value is None:
        return [] if plan.is_set else None
    return _shown(plan, value)


def json_of(plan: ValuePlan, value: AttributeValue | None) -> str:
    """The JSON text of a stored value, indented."""
    return msgspec.json.format(_ENCODER.encode(plain_of(plan, value)), indent=2).decode()


def value_of_json(plan: ValuePlan, text: str) -> Any:
    """The value of a JSON text. InvalidValue says what is wanted, and where, and holds no value."""
    try:
        given = exact_json(text)
    except (ValueError, RecursionError):
        raise InvalidValue("this is not JSON, or has a name twice in an object", hint=_AS_SHOWN) from None
    return value_of_plain(plan, given)


def value_of_plain(plan: ValuePlan, given: Any) -> Any:
    """The value of what a JSON text says: texts, numbers, truths, None, lists and dicts."""
    try:
        return plan.load(_stored(plan, given))
    except InvalidValue:
        raise
    except Corrupt as error:
        what = error.what.rpartition("can't be read: ")[2]
        raise InvalidValue(what, attribute=error.attribute, hint=_AS_SHOWN) from None
    except (ValueError, LookupError, TypeError, ArithmeticError):
        raise InvalidValue("a part of it is not a value of its type", hint=_AS_SHOWN) from None


# --- as JSON ---------------------------------------------------------------------------------------------------------
def _shown(plan: ValuePlan, value: AttributeValue) -> Any:
    for kind, show in _SHOWN.items():
        if isinstance(plan, kind):
            return show(plan, value)
    raise TypeError(f"{type(plan).__name__} has no form as JSON")


def _shown_scalar(tag: str, inner: Any) -> Any:
    if tag == "N":
        return read_number(str(inner))
    return b64encode(inner).decode() if tag == "B" and isinstance(inner, bytes) else inner


def _shown_nested(plan: NestedPlan, value: AttributeValue) -> Any:
    inner = value["M"]
    return _shown_object(plan.codec, inner)


def _shown_object(codec: Codec[Any], inner: Mapping[str, AttributeValue]) -> dict[str, Any]:
    return {f.name: _shown(f.plan, inner[f.stored]) for f in codec.fields if f.stored in inner}


def _shown_union(plan: UnionPlan, value: AttributeValue) -> Any:
    inner = value["M"]
    tag = {plan.name: inner[plan.name]["S"]} if plan.name in inner else {}
    return tag | _shown_object(plan.codec_at(inner), inner)


def _shown_free(value: AttributeValue) -> Any:
    ((tag, inner),) = value.items()
    if tag == "L":
        return [_shown_free(element) for element in inner]
    if tag == "M":
        shown = {name: _shown_free(element) for name, element in inner.items()}
        return {"M": shown} if len(shown) == 1 and _MARKS & shown.keys() else shown
    if tag in _SETS:
        return {tag: [_shown_scalar(_SETS[tag], element) for element in inner]}
    if tag == "B":
        return {"B": _shown_scalar("B", inner)}
    return None if tag == "NULL" else _shown_scalar(tag, inner)


_SHOWN: Mapping[type[ValuePlan], Callable[[Any, AttributeValue], Any]] = {
    Scalar: lambda plan, value: _shown_scalar(plan.tag, value[plan.tag]),
    SetPlan: lambda plan, value: [_shown_scalar(plan.element.tag, element) for element in value[plan.tag]],
    ListPlan: lambda plan, value: [_shown(plan.element, element) for element in value["L"]],
    MapPlan: lambda plan, value: {name: _shown(plan.element, element) for name, element in value["M"].items()},
    OptionalPlan: lambda plan, value: None if "NULL" in value else _shown(plan.inner, value),
    NestedPlan: _shown_nested,
    UnionPlan: _shown_union,
    ConvertedPlan: lambda plan, value: _shown(plan.inner, value),
    FreePlan: lambda plan, value: _shown_free(value),
}


# --- and back --------------------------------------------------------------------------------------------------------
def _stored(plan: ValuePlan, given: Any) -> AttributeValue:
    for kind, store in _STORED.items():
        if isinstance(plan, kind):
            return store(plan, given)
    raise TypeError(f"{type(plan).__name__} has no form as JSON")


def _wanted(what: str, given: Any) -> InvalidValue:
    return InvalidValue(f"{what} is expected, not {named(given)}", hint=_AS_SHOWN)


def _list(given: Any) -> list[Any]:
    elements: list[Any] = given
    if not isinstance(given, list):
        raise _wanted("a list", given)
    return elements


def _object(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _wanted("an object", given)
    return cast("dict[str, Any]", given)


def keeps_digits(number: float) -> bool:
    """Whether a reader of JSON that gives floats can't have rounded a number: 15 digits always come back."""
    return len(Decimal(repr(number)).as_tuple().digits) <= _SURE_DIGITS


def _number(kind: Kind, given: Any) -> str:
    if isinstance(given, str) and kind is Kind.DECIMAL:
        return str(Decimal(given))
    if isinstance(given, bool) or not isinstance(given, (int, float, Decimal)):
        raise _wanted("a number", given)
    if isinstance(given, float) and kind is not Kind.FLOAT and not keeps_digits(given):
        raise InvalidValue("a number of more than 15 digits may have been rounded: give it as a text of its digits")
    return repr(given) if isinstance(given, float) else str(given)


def _stored_scalar(tag: str, given: Any, kind: Kind = Kind.TEXT) -> Any:
    if tag == "N":
        return _number(kind, given)
    if tag == "BOOL":
        if not isinstance(given, bool):
            raise _wanted("true or false", given)
        return given
    if not isinstance(given, str):
        raise _wanted("bytes as base64" if tag == "B" else "a text", given)
    return _base64(given) if tag == "B" else given


def _base64(text: str) -> str:
    try:
        b64decode(text, validate=True)
    except ValueError:
        raise InvalidValue("bytes as base64 are expected", hint=_AS_SHOWN) from None
    return text


def _stored_set(plan: SetPlan, given: Any) -> AttributeValue:
    members = [_stored_scalar(plan.element.tag, element, plan.element.kind) for element in _list(given)]
    if len({plan.element.parse(element) for element in members}) < len(members):
        raise InvalidValue("a member of a set stands twice", hint="Leave one of them out.")
    return {plan.tag: members}


def _stored_nested(plan: NestedPlan, given: Any) -> AttributeValue:
    return _stored_object_of(plan.codec, _object(given))


def _stored_union(plan: UnionPlan, given: Any) -> AttributeValue:
    rest = dict(_object(given))
    tag = rest.pop(plan.name, None)
    marked = {} if tag is None else {plan.name: {"S": _stored_scalar("S", tag)}}
    return {"M": marked | _stored_object_of(plan.codec_at(marked), rest)["M"]}


def _stored_object_of(codec: Codec[Any], given: Mapping[str, Any]) -> AttributeValue:
    parts = codec.by_name
    for name in given.keys() - parts.keys():
        raise InvalidValue(f"{codec.kind.__name__} has no attribute {name!r}; it has {', '.join(parts)}")
    attributes: dict[str, AttributeValue] = {}
    for name, element in given.items():
        part = parts[name]
        if element is None and part.optional:
            continue
        try:
            attributes[part.stored] = _stored(part.plan, element)
        except InvalidValue as error:
            error.attribute = f"{name}.{error.attribute}" if error.attribute else name
            raise
    return {"M": attributes}


def _stored_free(given: Any) -> AttributeValue:
    if isinstance(given, list):
        return {"L": [_stored_free(element) for element in _list(given)]}
    if isinstance(given, dict):
        return _stored_object(cast("dict[str, Any]", given))
    if given is None:
        return {"NULL": True}
    tag = "S" if isinstance(given, str) else "BOOL" if isinstance(given, bool) else "N"
    return {tag: _stored_scalar(tag, given)}


def _stored_object(given: dict[str, Any]) -> AttributeValue:
    """A map, or what the mark of its one key says."""
    mark = next(iter(given), "")
    if len(given) != 1 or mark not in _MARKS:
        return _map(given)
    inner = given[mark]
    try:
        if mark == "M":
            return _map(_object(inner))
        if mark in "BN":
            return {mark: _stored_scalar(mark, inner, Kind.DECIMAL)}
        if not _list(inner):
            raise InvalidValue("a set of Any has a member", hint="Leave it out, or use a list.")
        return {mark: [_stored_scalar(_SETS[mark], element) for element in inner]}
    except (InvalidValue, InvalidOperation) as error:
        what = error.what if isinstance(error, InvalidValue) else "a number is expected"
        raise InvalidValue(f'{what}: {{"{mark}": ...}} says so; a map is {{"M": {{"{mark}": ...}}}}') from None


def _map(given: dict[str, Any]) -> AttributeValue:
    return {"M": {map_name(name): _stored_free(element) for name, element in given.items()}}


_STORED: Mapping[type[ValuePlan], Callable[[Any, Any], AttributeValue]] = {
    Scalar: lambda plan, given: {plan.tag: _stored_scalar(plan.tag, given, plan.kind)},
    SetPlan: _stored_set,
    ListPlan: lambda plan, given: {"L": [_stored(plan.element, element) for element in _list(given)]},
    MapPlan: lambda plan, given: {
        "M": {map_name(n): _stored(plan.element, element) for n, element in _object(given).items()}
    },
    OptionalPlan: lambda plan, given: {"NULL": True} if given is None else _stored(plan.inner, given),
    NestedPlan: _stored_nested,
    UnionPlan: _stored_union,
    ConvertedPlan: lambda plan, given: _stored(plan.inner, given),
    FreePlan: lambda plan, given: _stored_free(given),
}
