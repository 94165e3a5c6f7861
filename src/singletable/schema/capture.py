"""Runs a key function once, on placeholders, and reads its f-strings as templates.

A function that a template can't express is refused here, when the class is made, with a hint for a better form.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, NoReturn, cast, get_args, get_origin

from singletable.errors import DeclarationError
from singletable.schema.key_shapes import KeyShape
from singletable.schema.key_text import MAX_PARTITION_BYTES, MAX_SORT_BYTES, KeyPart, Slot, Template
from singletable.values import (
    VALUE_TYPES,
    EnumText,
    KeyType,
    bare,
    formats_of,
    in_form,
    split_optional,
    value_type_of,
)


class _Any:
    def __repr__(self) -> str:
        return "ANY"


ANY: Any = _Any()
"""The default of a sort key's parameter: every value."""
Doubles = Literal["refuse", "by version"] | tuple[Literal["newest"], str]
"""The rule of a class whose key was another, for two items under both keys, which differ."""

_PIECE = re.compile(r"([^\0]*)(?:\0([^:\0]+):([^\0]*)\0|$)")
"""A literal, and the value behind it; at the end of a text, a literal alone."""


def capture(
    function: Callable[..., Any],
    types: Mapping[str, Any],
    separator: str,
    where: str,
    *,
    primary: bool,
    shape: KeyShape | None = None,
) -> tuple[Template, Template]:
    """The templates of a key function's partition and sort key. `types` are the class's attributes; `shape` says
    which key attributes are not texts of parts."""
    parameters = inspect.signature(function).parameters
    _check_parameters(parameters, types, where)
    texts = _run(function, parameters, where, has_sort=shape is None or shape.has_sort)
    limits = zip(texts, (MAX_PARTITION_BYTES, MAX_SORT_BYTES), strict=True)
    partition, sort = (
        (shape and shape.whole(at, text)) or _template(text, types, separator, where, primary, limit)
        for at, (text, limit) in enumerate(limits)
    )
    _check_use(parameters, partition, sort, where)
    _check_shards(partition, sort, where, primary=primary)
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
    _check_shards(Template(()), sort, where, primary=False)
    return sort


def capture_search(
    function: Callable[..., Any],
    types: Mapping[str, Any],
    separator: str,
    where: str,
    slot_of: Callable[[str, Mapping[str, Any], str], Slot],
) -> tuple[Template, Template]:
    """The templates of a search: its scope, and its text, of which `slot_of` makes the slot."""
    parameters = inspect.signature(function).parameters
    _check_parameters(parameters, types, where)
    scope_text, text = _run(function, parameters, where, has_sort=True)
    scope = _template(scope_text, types, separator, where, False, MAX_PARTITION_BYTES)
    words = Template((KeyPart("", slot_of(text, types, where)),), separator)
    _check_use(parameters, scope, words, where)
    _check_shards(Template(()), scope, where, primary=False)
    if words.names[0] in scope.names:
        raise DeclarationError(
            f"{where}: {words.names[0]} is both the scope of the search and its text",
            hint="Search in another attribute, or in a literal.",
        )
    return scope, words


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


def _run(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], where: str, *, has_sort: bool
) -> tuple[str, str]:
    made: object = function(**{name: Placeholder(name, where) for name in parameters})
    if not has_sort:
        if isinstance(made, str):
            return made, ""
        raise DeclarationError(
            f"{where}: a key function returns one text for a key without a sort attribute",
            hint='As in: return f"{user_id}"',
        )
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
    template = Template(tuple(_parts(text, types, separator, where)), separator, primary, limit)
    only = len(template.parts) == 1 and not template.parts[0].literal and not primary
    for at, part in enumerate(template.parts):
        if part.slot is not None:
            _check_slot(template, at, part.slot, where, only)
    return template


def _parts(text: str, types: Mapping[str, Any], separator: str, where: str) -> Iterator[KeyPart]:
    """The parts of a text: divided by the separator, and behind each value."""
    pieces = _PIECE.findall(text)
    for at, (literal, name, spec) in enumerate(pieces):
        if at and not literal and not name:
            return  # the end of the text, right behind a value
        is_direct = at > 0 and not literal.startswith(separator)
        *before, last = (literal if is_direct or not at else literal.removeprefix(separator)).split(separator)
        slot = _slot(name, spec, types[name], where) if name else None
        for number, one in enumerate((*before, last)):
            if "%" in one or not one.isprintable():
                raise DeclarationError(
                    f"{where}: {one!r} contains '%' or a control character; '%' is the escape character"
                )
            yield KeyPart(one, slot if number == len(before) else None, is_direct and number == 0)
        if not name:
            return


def _check_slot(template: Template, at: int, slot: Slot, where: str, only: bool) -> None:
    """Raise DeclarationError for a value whose texts can't stand in their place."""
    place, key_type = template.place_of(slot), slot.key_type
    mark = place.separator[:1]
    is_open = not place.is_last and (not mark or (mark.isascii() and mark.isalnum()))
    if key_type.is_by_rule and is_open and any(step.many for path in key_type.paths(place) for step in path):
        raise DeclarationError(
            f"{where}: in {template.shown!r} a value is followed by more text, so it could not be read back or ordered",
            hint=f"End it with {template.separator!r}, or another mark that is not a letter or a digit.",
        )
    _check_enum(slot, place.separator, where, only)
    _check_enum_order(slot, place.separator, where, last=place.is_last)
    if key_type.is_rest and (not place.is_last or any(part.slot for part in template.parts[:at])):
        raise DeclarationError(f"{where}: {{{slot.name}:rest}} must be last in its key, after literals only")


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
    try:
        key_type = in_form(plain, spec)
    except DeclarationError as error:
        raise DeclarationError(f"{where}: {{{name}:{spec}}}: {error.what}", hint=error.hint) from None
    if key_type is None:
        raise DeclarationError(
            f"{where}: {{{name}:{spec}}} is not a valid format in a key", hint=_forms(name, plain, spec)
        )
    return Slot(name, key_type)


def _forms(name: str, plain: KeyType, spec: str) -> str:
    """The formats that would be valid."""
    if spec.endswith("d") and in_form(plain, spec[:-1]) is not None:
        return f"Write {{{name}:{spec[:-1]}}}: the width alone."
    formats = ", ".join(f"{{{name}:{format}}}" for format in formats_of(plain))
    kind = f"{'An' if plain.type.__name__[0] in 'aeiouAEIOU' else 'A'} {plain.type.__name__}"
    return f"{kind} takes {formats}." if formats else f"{kind} takes no format."


def _check_enum(slot: Slot, separator: str, where: str, only: bool) -> None:
    if not isinstance(slot.key_type, EnumText):
        return
    texts = slot.key_type.texts
    if len(set(texts)) < len(texts):
        raise DeclarationError(f"{where}: two members of {slot.type.__name__} have the same key text")
    wrong = [t for t in texts if not t or "%" in t or (separator and separator in t)]
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
        is_spread = partition.spread is not None and partition.spread.name == name
        if parameter.default is ANY and name in partition.names and not is_spread:
            raise DeclarationError(
                f"{where}: {name} is part of the partition key, and a query needs all of its values",
                hint="Remove its default.",
            )


def _check_shards(partition: Template, sort: Template, where: str, *, primary: bool) -> None:
    """Raise DeclarationError for a shard that spreads nothing, or that queries would look for in the wrong place."""
    slots = [(template, slot) for template in (partition, sort) for _, slot in template.segments if slot]
    shards = [(template, slot) for template, slot in slots if slot.key_type.shards]
    for template, shard in shards:
        name, others = shard.name, [(its, slot) for its, slot in slots if slot.name == shard.name and slot is not shard]
        for is_so, what, hint in (
            (template is sort, "a shard in the sort key spreads nothing", "Put it into the partition key."),
            (len(shards) > 1, "a key has one shard", "Take one, with as many shards as both have together."),
            (
                any(its is partition for its, _ in others),
                f"the partition key has {name} beside its shard, which spreads nothing then",
                f"Put {{{name}}} into the sort key alone.",
            ),
            (
                primary and not others,
                f"all values of {name} in one shard would have one key",
                f"Put {{{name}}} into the sort key whole.",
            ),
            (
                any(slot.key_type.alike for _, slot in others),
                f"values of {name} that have one text in the key have several shards",
                f"Put {{{name}}} into the sort key whole.",
            ),
        ):
            if is_so:
                raise DeclarationError(f"{where}: {what}", hint=hint)
