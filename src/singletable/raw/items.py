"""Plain items: Python values of DynamoDB's own types, without a class that declares them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from singletable.errors import Corrupt, InvalidRequest, InvalidValue
from singletable.flow import Port
from singletable.foundation import Table, ready
from singletable.operations import Item, Key, RawCondition
from singletable.values import AttributeValue, from_attribute_value, to_attribute_value

RawItem = dict[str, Any]
"""An item, or a key: its attributes by their stored names. A number is an int, or a Decimal with all its digits; a set
is a set, of texts, numbers or bytes."""
NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def stored(item: Mapping[str, Any], operation: str) -> Key:
    """The attributes of an item, or the values of an expression, as a request has them. InvalidValue names the one
    that has no form."""
    values: Key = {}
    for name, value in item.items():
        try:
            values[name] = to_attribute_value(value)
        except InvalidValue as error:
            error.attribute, error.operation = name, operation
            raise
    return values


def condition(where: str, names: Mapping[str, str], values: Mapping[str, Any], operation: str) -> RawCondition:
    """A condition, with the names and values of the whole request."""
    return RawCondition(where or None, names, stored(values, operation))


class PlainItems:
    """Reads items of any class as Python values, each exactly."""

    wire: Any = dict[str, dict[str, Any]]

    def build(self, wire: Mapping[str, AttributeValue]) -> RawItem:
        return {name: from_attribute_value(value) for name, value in wire.items()}

    def load(self, item: Item) -> RawItem:
        try:
            return self.build(item)
        except ValueError:
            raise Corrupt(
                "an item has a value of a type that is not known", hint="A newer version of the library may know it."
            ) from None


PLAIN = PlainItems()


class RawTable:
    """A table by its declaration, which the local engine creates at its first use, or by its name alone."""

    def __init__(self, table: Table | str) -> None:
        if not isinstance(table, (Table, str)):  # pyright: ignore[reportUnnecessaryIsInstance] what callers give
            raise InvalidRequest(
                f"Raw takes a table or its name, not a {type(table).__name__}", hint='As in Raw(db, "orders").'
            )
        self.name = table if isinstance(table, str) else table.name
        self._declared = None if isinstance(table, str) else table

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes of its key; none of a table by its name alone."""
        return () if self._declared is None else tuple(filter(None, self._declared.definition.key))

    async def ready(self, port: Port) -> None:
        if self._declared is not None:
            await ready(port, self._declared)
