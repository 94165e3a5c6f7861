"""A key that was another: `@app.key(was=old_key)`, and what is refused when the class is made.

    def order_by_number(number: int) -> Key:
        return f"order#{number}", "order"

    class Order(Entity, table=shop, type="order"):
        @shop.key(was=order_by_number)
        @staticmethod
        def of_customer(customer: str, number: int) -> Key:
            return f"customer#{customer}", f"order#{number}"

Where the items lay in another table, the old key says so: `@orders.key(was=shop.key(order_by_number))`. The two keys
may be the same then.

An item is found under its old key from its new one, so the new key has every attribute of the old one. No text may be a
key of both forms. A key that lists a partition lists what lies in the old form too, merged in order; so both forms
have to order the same attributes.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from msgspec.structs import replace

from singletable.errors import DeclarationError, InvalidRequest
from singletable.schema.bound_patterns import DeclaredKey
from singletable.schema.capture import ANY, capture, type_in_key
from singletable.schema.derived_keys import moving_attributes
from singletable.schema.key_text import Template
from singletable.schema.overlap import common_key
from singletable.schema.patterns import Captured, KeyOf, Query
from singletable.values import Role

if TYPE_CHECKING:
    from singletable.schema.table import Table

E_co = TypeVar("E_co", covariant=True)
Templates = tuple[Template, Template]
_TIMES: tuple[Any, ...] = (datetime, date, int, float, Decimal)


class MovingKey(KeyOf[E_co], frozen=True, gc=False):
    """The items of a partition, or of its shards, that lie under their key, and the ones that lie under the old key."""

    has_parts: ClassVar[bool] = True
    old: Query[Any] | None = None

    @property
    def both(self) -> tuple[Query[Any], Query[Any]]:
        """The old partition, then the new one, consistently: an item that moves meanwhile is in the second answer."""
        assert self.old is not None
        old = replace(self.old, filter=self.filter, descending=self.descending, strong=self.strong)
        bounds = self.partition, self.low, self.high, self.bound, self.filter, self.descending
        return old, KeyOf(self.kinds, self.captured, *bounds, strong=True, shards=self.shards)

    @property
    def parts(self) -> tuple[Query[Any], ...]:
        """Both, or their shards."""
        return tuple(part for query in self.both for part in query.parts)


class MovingPattern(Captured, frozen=True, eq=False, dict=True):
    """The key of a class whose items may lie under another key still."""

    decides: str = ""
    """The attribute whose greater value says which of two items under both keys stays; empty where both do."""

    @cached_property
    def moved_attributes(self) -> frozenset[str]:  # type: ignore[override]
        return moving_attributes(self, self.model.table.definition)

    def _open(self, result: type[Query[Any]], given: dict[str, Any]) -> Query[Any]:
        assert self.was is not None
        if not is_listed_alike(self.templates, self.was.templates):
            raise InvalidRequest(
                f"{self.shown} can't list a partition while items lie under {self.was.declared}, which orders them in "
                "another way",
                hint="Give every argument one value, or list by an index until all items have moved.",
            )
        made = super()._open(result, given)
        old = self.was._open(KeyOf, given)  # noqa: SLF001  the same method of another pattern
        bounds = made.partition, made.low, made.high, made.bound, made.filter
        return MovingKey(made.kinds, self, *bounds, shards=made.shards, old=old)


def old_key(
    cls: type[Any], declared: DeclaredKey[Any], new: Templates, types: Mapping[str, Any], table: Table
) -> Captured | None:
    """The declared key that a class's items had before; None for a class whose key never changed."""
    was = declared.was
    if was is None:
        return None
    home, function = (was.table, was.function) if isinstance(was, DeclaredKey) else (table, was)
    elsewhere = None if home is table else home
    said = function.__name__ if elsewhere is None else f"{home.name}.key({function.__name__})"
    where = f"{cls.__name__}.{declared.name}(was={said})"
    if elsewhere is not None:
        _check_tables(where, table, elsewhere)
    old = capture(function, types, table.separator, where, primary=True)
    _check(where, table, new, old, elsewhere)
    unlike = None if is_listed_alike(new, old) else _listing_parameter(declared)
    if unlike is not None:
        raise DeclarationError(
            f"{where}: the items of a partition can't be listed in one order while some lie under the old key, and "
            f"{unlike} may be ANY",
            table=table.name,
            hint=f"Give {unlike} no default until all items have moved, and list by an index meanwhile. Keys that have "
            "the same attributes in the sort key, in one order, list together.",
        )
    return Captured(cls, function.__name__, function, None, old, inspect.signature(function), table=elsewhere)


def deciding_attribute(where: str, doubles: Any, types: Mapping[str, Any], roles: Mapping[str, Role]) -> str:
    """The attribute by which a rule decides; empty for none. DeclarationError where the class lacks it."""
    match doubles:
        case "refuse":
            return ""
        case "by version":
            counter = next((name for name, role in roles.items() if role == "version"), "")
            if counter:
                return counter
            what = 'is "by version", and no attribute counts the writes of an item'
            hint = 'Declare one, as field(version=True, default=0), or use doubles=("newest", "changed_at").'
        case _:
            kind = types.get(doubles[1], object) if len(doubles) == 2 and doubles[0] == "newest" else object
            if isinstance(kind, str) or type_in_key(kind) in _TIMES:
                return str(doubles[1])
            what = f"is {doubles!r}, which names no attribute that is a time or a number"
            hint = 'As in doubles=("newest", "changed_at"); or "by version", or "refuse".'
    raise DeclarationError(f"{where}: doubles= {what}", hint=hint)


def is_listed_alike(new: Templates, old: Templates) -> bool:
    """Whether the items of a partition of the new key, or of its shards, lie in one of the old one too, or in its
    shards, in the same order."""
    ordered = all(
        slot is None or template.orders(slot)
        for template in (new[1], old[1])
        for slot in (part.slot for part in template.parts)
    )
    fixed = [{*t[0].names} - {t[0].spread.name if t[0].spread else ""} for t in (old, new)]
    return ordered and fixed[0] <= fixed[1] and old[1].names == new[1].names


def _check_tables(where: str, table: Table, old: Table) -> None:
    """DeclarationError for two tables whose items can't be told to be the same."""
    if old.name == table.name:
        raise DeclarationError(
            f"{where}: both are table {table.name}, declared twice",
            table=table.name,
            hint="Where the table stays, was= takes the function of the old key alone.",
        )
    for what in ("key", "type_attribute", "version_attribute", "write_id_attribute"):
        mine, theirs = getattr(table.definition, what), getattr(old.definition, what)
        if mine != theirs:
            raise _unlike(where, table, f"{what}={mine!r}", f"{theirs!r} in {old.name}")
    for what in ("separator", "ttl_name"):
        if getattr(table, what) != getattr(old, what):
            said = "ttl_attribute" if what == "ttl_name" else what
            raise _unlike(where, table, f"{said}={getattr(table, what)!r}", f"{getattr(old, what)!r} in {old.name}")
    if old.guards_overlap:
        raise DeclarationError(
            f'{where}: a table with overlap="guard" can\'t say which item lies under an old key', table=old.name
        )


def _unlike(where: str, table: Table, mine: str, theirs: str) -> DeclarationError:
    return DeclarationError(
        f"{where}: items move between tables of one form, and this one has {mine}, which is {theirs}",
        table=table.name,
        hint="Declare both tables alike in this.",
    )


def _check(where: str, table: Table, new: Templates, old: Templates, elsewhere: Table | None) -> None:
    known = {name for template in new for name in template.names if name not in template.untold}
    lost = next((name for template in old for name in template.names if name not in known), None)
    if lost is not None:
        raise DeclarationError(
            f"{where}: the old key holds {lost}, which the new one doesn't tell, so an item that has not moved can't "
            "be found from its new key",
            table=table.name,
            hint=f"Put {{{lost}}} into the new key as well, whole.",
        )
    example = common_key(new, old) if elsewhere is None else None
    if example is not None:
        raise DeclarationError(
            f"{where}: the old key and the new one could be equal, as in {example}; an item there could be of either",
            table=table.name,
            hint="Begin the new key with another literal.",
        )
    if table.guards_overlap:
        raise DeclarationError(
            f'{where}: a table with overlap="guard" can\'t say which item lies under an old key', table=table.name
        )


def _listing_parameter(declared: DeclaredKey[Any]) -> str | None:
    """A parameter of the new key that may be left out, so that the key lists a partition."""
    parameters = inspect.signature(declared.function).parameters.values()
    return next((parameter.name for parameter in parameters if parameter.default is ANY), None)
