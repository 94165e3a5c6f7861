"""Runs a key function once, on placeholders, and reads its f-strings as templates.

A function that a template can't express is refused here, when the class is made, with a hint for a better form.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NoReturn, cast, get_args, get_origin

from singletable.errors import DeclarationError
from singletable.schema.key_text import MAX_PARTITION_BYTES, MAX_SORT_BYTES, KeyPart, Slot, Template
from singletable.values import VALUE_TYPES, EnumText, KeyType, bare, split_optional, value_type_of


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY: Any = _Any()
"""The default of a sort key's parameter: every value."""
Doubles = Literal["refuse", "by version"] | tuple[Literal["newest"], str]
"""The rule of a class whose key was another, for two items under both keys, which differ."""

_PART = re.compile(r"([^\0]*)(?:\0([^:\0]+):([^\0]*)\0)?")


def capture(
    function: Callable[..., Any], types: Mapping[str, Any], separator: str, where: str, *, primary: bool
) -> tuple[Template, Template]:
    """The templates of a key function's partition and sort key. `types` are the class's attributes."""
    parameters = inspect.signature(function).parameters
    _check_parameters(parameters, types, where)
    texts = _run(function, parameters, where)
    partition = _template(texts[0], types, separator, where, primary, MAX_PARTITION_BYTES)
    sort = _template(texts[1], types, separator, where, primary, MAX_SORT_BYTES)
    _check_use(parameters, partition, sort, where)
    return partition, sort


def capture_sort(function: Callable[..., Any], types: Mapping[str, Any], separator: str, where: str) -> Template:
    """The template of a key function that returns a sort key's text alone."""
    parameters = inspect.signature(function).parameters
    _check_parameters(parameters, types, where)
    text: object = function(**{name: Placeholder(name, where) for name in parameters})
    if not isinstance(text, str):
        raise DeclarationError(f"{where}: it returns one text, the sort key", hint='As in: return f"{role}"')
    sort = _template(text, types, separator, where, False, MAX_SORT_BYTES)
    _check_use(parameters, Template(()), sort, where)
    return sort


class Placeholder:
    """Represents a parameter while a key function is run. It can only be put into an f-string."""

    def __init__(self, name: str, where: str) -> None:
        self.__dict__.update(_name=name, _where=where)

    def __format__(self, spec: str) -> str:
        return f"\0{self.__dict__['_name']}:{spec}\0"

    def __str__(self) -> str:
        # A token that no width could pad unseen, as in f"{name!s:>10}".
        return f"\0{self.__dict__['_name']}:!s\0"

    def __repr__(self) -> str:
        return f"\0{self.__dict__['_name']}:!r\0"

    def _refuse(self, what: str) -> NoReturn:
        name, where = self.__dict__["_name"], self.__dict__["_where"]
        raise DeclarationError(
            f"{where}: {what.format(name)} can't be part of a key function, which is run once with placeholders, "
            f"not with values",
            hint=f"Write {{{name}}} in an f-string; for a changed value, keep an attribute that holds it.",
        )

    def __getattr__(self, attribute: str) -> NoReturn:
        self._refuse("{}." + attribute)

    def _operator(self, *_: object) -> NoReturn:
        self._refuse("an operator on {}")

    __add__ = __radd__ = __mod__ = __rmod__ = __getitem__ = __iter__ = __len__ = __bool__ = __call__ = _operator
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _operator
    __eq__ = __ne__ = _operator  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__


def type_in_key(kind: Any) -> Any:
    """The type whose text is in a key: str for `str | None`, for a NewType of str, for a Literal of texts."""
    kind, _ = split_optional(kind)
    if get_origin(kind) is Annotated:  # a key has the text of the type itself, however an attribute is stored
        kind = get_args(kind)[0]
    arguments = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is not None and not isinstance(kind, type) and arguments:
        return arguments[0].__class__
    return bare(kind)


def _check_parameters(parameters: Mapping[str, inspect.Parameter], types: Mapping[str, Any], where: str) -> None:
    for name, parameter in parameters.items():
        if name not in types:
            raise DeclarationError(
                f"{where}: parameter {name!r} is not an attribute ({', '.join(types)})",
                hint="Name it after the attribute whose value it is.",
            )
        if parameter.default is not ANY and parameter.default is not parameter.empty:
            raise DeclarationError(f"{where}: {name} may only default to ANY")


def _run(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], where: str) -> tuple[str, str]:
    made: object = function(**{name: Placeholder(name, where) for name in parameters})
    texts = cast("tuple[object, ...]", made)
    if not (isinstance(made, tuple) and len(texts) == 2 and all(isinstance(text, str) for text in texts)):
        raise DeclarationError(
            f"{where}: a key function returns two texts, the partition key and the sort key",
            hint='As in: return f"user#{email}", "user"',
        )
    return cast("tuple[str, str]", texts)


def _template(text: str, types: Mapping[str, Any], separator: str, where: str, primary: bool, limit: int) -> Template:
    if not text:
        raise DeclarationError(
            f"{where}: a key text is empty, and DynamoDB has no empty keys", hint="Give it a literal: the type's name."
        )
    pieces = text.split(separator)
    parts = tuple(_part(piece, i, pieces, types, separator, where, primary) for i, piece in enumerate(pieces))
    return Template(parts, separator, primary, limit)


def _part(
    piece: str, at: int, pieces: list[str], types: Mapping[str, Any], separator: str, where: str, primary: bool
) -> KeyPart:
    found = _PART.fullmatch(piece)
    if found is None:
        shown = re.sub(r"\0([^:\0]+):[^\0]*\0", r"{\1}", piece)
        raise DeclarationError(
            f"{where}: in {shown!r} a value is followed by more text, so it could not be read back or ordered",
            hint=f"End it with {separator!r}.",
        )
    literal, name, spec = cast("tuple[str, str | None, str]", found.groups())
    if "%" in literal or not literal.isprintable():
        raise DeclarationError(f"{where}: {literal!r} contains '%' or a control character; '%' is the escape character")
    if name is None:
        return KeyPart(literal)
    slot = _slot(name, spec, types[name], where)
    only = len(pieces) == 1 and not literal and not primary
    _check_enum(slot, separator, where, only)
    _check_enum_order(slot, separator, where, last=at == len(pieces) - 1)
    if slot.key_type.is_rest and (at != len(pieces) - 1 or any("\0" in p for p in pieces[:at])):
        raise DeclarationError(f"{where}: {{{name}:rest}} must be last in its key, after literals only")
    return KeyPart(literal, slot)


def sortable(name: str, declared: Any, where: str) -> KeyType:
    """How the values of an attribute are written in a key. Raises DeclarationError if they can't be."""
    kind = type_in_key(declared)
    value_type = value_type_of(kind)
    if value_type is None or value_type.key is None:
        named = getattr(kind, "__name__", str(kind))
        choices = ", ".join(one.type.__name__ for one in VALUE_TYPES.values() if one.key)
        raise DeclarationError(
            f"{where}: {name} is {named}, which has no sortable text", hint=f"A key takes {choices} or an Enum."
        )
    return value_type.key


def _slot(name: str, spec: str, declared: Any, where: str) -> Slot:
    if isinstance(declared, str):
        raise DeclarationError(
            f"{where}: {declared!r}, the type of {name}, doesn't exist when the class is made",
            hint="Import it outside `if TYPE_CHECKING`, or define it above.",
        )
    plain = sortable(name, declared, where)
    if spec in ("!r", "!s"):
        raise DeclarationError(
            f"{where}: put {{{name}}} in an f-string by itself, without str(), repr(), % or !{spec[1]}"
        )
    key_type = plain.in_form(spec)
    if key_type is None:
        raise DeclarationError(
            f"{where}: {{{name}:{spec}}} is not a valid format in a key",
            hint=f"Only an int takes one, a width: {{{name}:06}}; and a str last in its key may say {{{name}:rest}}.",
        )
    return Slot(name, key_type)


def _check_enum(slot: Slot, separator: str, where: str, only: bool) -> None:
    if not isinstance(slot.key_type, EnumText):
        return
    texts = slot.key_type.texts
    if len(set(texts)) < len(texts):
        raise DeclarationError(f"{where}: two members of {slot.type.__name__} have the same key text")
    wrong = [t for t in texts if not t or "%" in t or separator in t]
    if wrong and not only:
        raise DeclarationError(
            f"{where}: the key text {wrong[0]!r} of {slot.type.__name__} holds {separator!r} or '%'",
            hint="An index's text with no other part allows it; else give the enum a key_text() without it.",
        )


def _check_enum_order(slot: Slot, separator: str, where: str, *, last: bool) -> None:
    """Raises DeclarationError if the texts, followed by a separator, sort in another order than alone."""
    if last or not isinstance(slot.key_type, EnumText):
        return
    texts = sorted(slot.key_type.texts)
    if texts != sorted(texts, key=lambda text: text + separator):
        raise DeclarationError(
            f"{where}: before {separator!r} the key texts of {slot.type.__name__} are in another order than alone",
            hint="Put it last in its key, or give the enum a key_text() of letters and digits.",
        )


def _check_use(parameters: Mapping[str, inspect.Parameter], partition: Template, sort: Template, where: str) -> None:
    for name, parameter in parameters.items():
        if name not in partition.names and name not in sort.names:
            raise DeclarationError(
                f"{where}: {name} is in no key", hint=f"Put {{{name}}} in one, or remove the parameter."
            )
        if parameter.default is ANY and name in partition.names:
            raise DeclarationError(
                f"{where}: {name} is part of the partition key, and a query needs all of its values",
                hint="Remove its default.",
            )
