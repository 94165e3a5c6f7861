"""Models as people change them: one class, declared again with other attributes, keys and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, new_class
from typing import Any

from singletable import Entity, Key, Table
from singletable.migrations import Counted, Migrations, PlanRefused

Keys = Callable[..., Key]


def by_number(number: int) -> Key:
    """One order."""
    return f"order#{number}", "order"


def order(
    attributes: Mapping[str, Any],
    *,
    key: Keys = by_number,
    was: Keys | None = None,
    patterns: Mapping[str, Keys] = {},
    indexes: tuple[str, ...] = ("gsi1", "gsi2"),
    version: int = 1,
    stored_as: int | None = None,
    type: str = "order",
    table: Table | None = None,
) -> tuple[Table, Any]:
    """A table `shop` with the class `Order`. An attribute is its type, or its type and its default or field()."""
    shop = table or Table("shop", indexes=list(indexes))
    pairs: dict[str, tuple[Any, ...]] = {
        name: each if isinstance(each, tuple) else (each,) for name, each in attributes.items()
    }
    body: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": "Order",
        "__annotations__": {name: pair[0] for name, pair in pairs.items()},
        **{name: pair[1] for name, pair in pairs.items() if len(pair) == 2},
        "by_key": (shop.key if was is None else shop.key(was=was))(staticmethod(_untyped(key))),
        **{f"in_{index}": shop.index(index)(staticmethod(_untyped(f))) for index, f in patterns.items()},
    }
    options = {"table": shop, "type": type, "version": version, "stored_as": stored_as}
    return shop, new_class("Order", (Entity,), options, lambda namespace: namespace.update(body))


def _untyped(function: Keys) -> Any:
    """The function without its annotations: the attributes have other types in each model."""
    code: Any = function
    return FunctionType(code.__code__, code.__globals__, code.__name__, code.__defaults__, code.__closure__)


def refused(db: Any, table: Table) -> tuple[str, list[tuple[str, str, int]]]:
    """Why a plan is refused, with the rule, subject and number of each count. An apply is refused in the same way."""
    told: list[list[tuple[str, str, int]]] = []
    for verb in (Migrations(db, table).plan, Migrations(db, table).apply):
        try:
            verb()
        except PlanRefused as error:
            counted: tuple[Counted, ...] = error.counted
            told.append([(each.difference.rule, each.difference.subject, each.items) for each in counted])
            assert all(0 < len(each.keys) <= 5 for each in counted)
            reason = error.reason
        else:
            raise AssertionError("nothing was refused")
    assert told[0] == told[1]
    return reason, told[0]
