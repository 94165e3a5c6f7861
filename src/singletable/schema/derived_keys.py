"""The key texts that an item's attributes make, as the codec writes them: of the primary key, and of each index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, structs

from singletable.errors import DeclarationError, InvalidValue
from singletable.schema.key_text import Template
from singletable.schema.patterns import Captured
from singletable.tables import TableDefinition
from singletable.values import Derived, Field, LoneValue, Role, Scalar


def derived_keys(
    key: Captured,
    indexes: Mapping[str, Captured],
    definition: TableDefinition,
    fields: Mapping[str, Field],
    roles: Mapping[str, Role],
) -> Iterator[Derived]:
    """The key attributes of an item. DeclarationError for a primary key that an item could lack, or that could change.

    An index may be keyed by the table's own key, which is written once.
    """
    _check_primary(key, fields, roles)
    texts: dict[str, tuple[Captured, Template]] = {}
    for captured in (key, *indexes.values()):
        own = () if captured is key else definition.key
        for attribute, template in key_templates(captured, definition):
            if not attribute or attribute in own or is_attribute(template, attribute, fields):
                continue
            other, same = texts.setdefault(attribute, (captured, template))
            if same.parts != template.parts:
                raise DeclarationError(
                    f"{captured.shown} makes another {attribute} than {other.shown}: {template.shown}, {same.shown}",
                    hint="An attribute that two indexes share has one text.",
                )
            if other is captured:
                kind = definition.kinds.get(attribute, "S")
                gate = _gate(captured, attribute, template, indexes, definition)
                optional = tuple(sorted(name for name in gate if fields[name].optional))
                lines = partial(template.lines, place_of=lambda name: f"o.{name}")
                yield Derived(attribute, _sparse_text(template, optional) if optional else None, lines, kind)


def check_own_attributes(key: Captured, indexes: Mapping[str, Captured], definition: TableDefinition) -> None:
    """DeclarationError for an index keyed by an attribute of the table's key, as a local one is, with another text."""
    primary = dict(key_templates(key, definition))
    for captured in indexes.values():
        for attribute, template in key_templates(captured, definition):
            if attribute in definition.key and _written_as(template) != _written_as(primary[attribute]):
                raise DeclarationError(
                    f"{captured.shown} makes another {attribute} than {key.shown}: {template.shown}, "
                    f"{primary[attribute].shown}",
                    hint=f"Index {captured.index} is keyed by it too: return the text of the primary key.",
                )


def moving_attributes(key: Captured, definition: TableDefinition) -> frozenset[str]:
    """The attributes of a table's key that an item under the old key of its class has otherwise. None of a class that
    moves from another table, whose indexes have only what has moved."""
    if key.was is None or key.was.table is not None:
        return frozenset()
    old = dict(key_templates(key.was, definition))
    return frozenset(name for name, new in key_templates(key, definition) if _written_as(new) != _written_as(old[name]))


def _written_as(template: Template) -> tuple[str, str]:
    return template.shown, template.form


def key_templates(captured: Captured, definition: TableDefinition) -> Iterator[tuple[str, Template]]:
    """The attributes of a key, of the table or an index, with their templates."""
    return zip(definition.index_keys(captured.index), captured.templates, strict=True)


class IndexText(Struct, frozen=True):
    """A key attribute that the library makes of a class's attributes."""

    attribute: str
    template: Template
    gate: frozenset[str]
    """The attributes of the class without which it is left out."""
    touched_by: frozenset[str]
    """Those whose change may give it another text, or put it into its item or take it out."""
    needed: frozenset[str]
    """Those that must be known to write it."""


def made_by_library(
    indexes: Mapping[str, Captured], definition: TableDefinition, fields: Mapping[str, Field]
) -> Mapping[str | None, tuple[IndexText, ...]]:
    """Those of each index that the library makes: neither the table's own key, nor attributes of the class."""
    return {each.index: tuple(_texts_of(each, indexes, definition, fields)) for each in indexes.values()}


def _texts_of(
    captured: Captured, indexes: Mapping[str, Captured], definition: TableDefinition, fields: Mapping[str, Field]
) -> Iterator[IndexText]:
    made = {
        name: template
        for name, template in key_templates(captured, definition)
        if name and name not in definition.key and not is_attribute(template, name, fields)
    }
    names = frozenset(name for template in made.values() for name in template.names)
    for attribute, template in made.items():
        own, gate = frozenset(template.names), _gate(captured, attribute, template, indexes, definition)
        is_sparse = any(fields[name].optional for name in gate)
        yield IndexText(attribute, template, gate, gate if is_sparse else own, gate & names if is_sparse else own)


def _gate(
    captured: Captured,
    attribute: str,
    template: Template,
    indexes: Mapping[str, Captured],
    definition: TableDefinition,
) -> frozenset[str]:
    """The attributes without which a key attribute is left out: all of its index; or its own, where it is in the key of
    another index too, whose items would be left out with it."""
    is_shared = sum(attribute in definition.index_keys(each.index) for each in indexes.values()) > 1
    return frozenset(template.names if is_shared else _names(captured))


def is_attribute(template: Template, attribute: str, fields: Mapping[str, Field]) -> bool:
    """Whether a key attribute is an attribute of the class: its own write makes the key."""
    slot = template.parts[0].slot if len(template.parts) == 1 else None
    if slot is None or not isinstance(slot.key_type, LoneValue):
        return False
    return fields[slot.name].stored == attribute and fields[slot.name].is_written


def filled(field: Field) -> Field:
    """The field of an attribute that is a key as it is: without an empty value, as DynamoDB has no empty keys."""
    plan = field.plan
    if not isinstance(plan, Scalar) or plan.tag == "N":
        return field
    what = "an empty text" if plan.tag == "S" else "no bytes"

    def check(value: Any) -> Any:
        if inner := plan.check(value):
            return inner
        raise InvalidValue(
            f"{what} can't be a key, which the attribute is",
            hint="An attribute that may be None keeps its item out of the index.",
        )

    fast = f"({plan.fast_check}) and {{v}}" if plan.fast_check else ""
    return structs.replace(field, plan=structs.replace(plan, check=check, fast_check=fast))


def _check_primary(key: Captured, fields: Mapping[str, Field], roles: Mapping[str, Role]) -> None:
    names = sorted(_names(key))
    optional = next((name for name in names if fields[name].optional), None)
    if optional is not None:
        raise DeclarationError(
            f"{key.shown}: {optional} may be None, and a primary key is always whole", hint="Declare it without None."
        )
    changing = next((name for name in names if roles.get(name) in ("expires", "version")), None)
    if changing is not None:
        raise DeclarationError(
            f"{key.shown}: {changing} is {roles[changing]}=True, and a primary key never changes",
            hint="A count changes with each write, and a time of expiry is kept to the second: use another.",
        )


def _names(captured: Captured) -> set[str]:
    return {name for template in captured.templates for name in template.names}


def _sparse_text(template: Template, optional: tuple[str, ...]) -> Callable[[Any], str | None]:
    """The function that returns an object's key text, or None if one of the `optional` attributes is None."""
    write = template.write_of

    def sparse(entity: Any) -> str | None:
        return None if any(getattr(entity, name) is None for name in optional) else write(entity)

    return sparse
