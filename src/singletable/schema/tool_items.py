"""Items that tools keep in a table that they work on: how far they have come, who is at work, what was done.

    pk  _migration                  sk  <word>#...      _type "_<word>"
    pk  _migration#<word>#...       sk  <word>          of the types in `entry_points.APART`

A tool declares a class of them, whose key begins with its word (two have another: `entry_points.KEY_WORDS`), and
registers it under its type in the group `singletable.items`. Each table has its own form of the class:

    class Transfer(ToolItem, word="transfer"):
        transfer: str

        @ToolKey
        @staticmethod
        def by_id(transfer: str = ANY) -> tuple[str, ...]:
            return (f"{transfer}",)

    Transfer.of(table).by_id("7f3a")

No query of another class returns such an item: a table refuses every other class with such a key or type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from types import new_class
from typing import Any, ClassVar

from singletable import entry_points
from singletable.errors import InvalidRequest
from singletable.extensions import ExtensionGroup
from singletable.schema.declaration import Special
from singletable.schema.entities import Entity
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import Query
from singletable.schema.system_items import KeyParts, system_key
from singletable.schema.table import TOOLS_PARTITION, Table, key_word, plain

ITEMS = ExtensionGroup("singletable.items", type, entry_points.ITEMS)


class ToolKey:
    """The key of a tool's items in each table: above `@staticmethod`, on a function that returns the parts after the
    word. Each parameter has ANY as its default; of a type in `entry_points.APART` none has."""

    def __init__(self, function: Callable[..., tuple[str, ...]]) -> None:
        self.function = plain(function)
        self.name = self.function.__name__

    def after(self, word: str, *, is_apart: bool) -> Callable[..., KeyParts]:
        """The key function of the items of a word, in one partition or in one for each."""

        @wraps(self.function)
        def parts(*args: Any, **kwargs: Any) -> KeyParts:
            own = self.function(*args, **kwargs)
            return ((TOOLS_PARTITION, word, *own), (word,)) if is_apart else ((TOOLS_PARTITION,), (word, *own))

        return parts


class ToolItem(Entity):
    """An item that a tool keeps in a table, outside of an application's catalogue."""

    word: ClassVar[str]
    goes_along: ClassVar[bool] = False
    """Whether a copy or an export of the table takes the item along. Others belong to work on that one table."""
    format_version: ClassVar[int] = 1
    """The schema version of its items: raised with a change of their form, whose attributes say `was=` and `since=`."""

    def __init_subclass__(cls, *, word: str = "", goes_along: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if word:
            cls.word, cls.goes_along = word, goes_along

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        return Special(is_admitted=False)

    @classmethod
    def of(cls, table: Table) -> type[Any]:
        """The class of a table's items. Those of a foreign table lie in its `own_items`; InvalidRequest without one."""
        if table.definition.foreign and table.own_items is None:
            raise InvalidRequest(
                f"{cls.__name__} is an item of the library's own, and the table is foreign",
                table=table.name,
                hint=f"Declare where such items go: own_items=Table('{table.name}-own').",
            )
        return _in_table(cls, table.own_items or table)

    @classmethod
    def is_apart(cls) -> bool:
        """Whether each item has a partition of its own, so that no query has them all."""
        return f"_{cls.word}" in entry_points.APART

    @classmethod
    def all_of(cls, table: Table) -> Query[Any]:
        """A query of all such items of a table, which are in one partition."""
        query: Query[Any] = getattr(cls.of(table), _key_of(cls).name)()
        return query


@lru_cache(maxsize=256)
def tool_class(type_name: str) -> type[ToolItem] | None:
    """The class of a stored type; None for a type of no tool. It is found once: who scans asks for each item."""
    entry = ITEMS.entry(type_name) if type_name.startswith("_") else None
    return None if entry is None else ITEMS.load(entry)


def tool_classes() -> list[type[ToolItem]]:
    """The classes of every tool's items."""
    return ITEMS.all()


def tool_model(table: Table, type_name: str) -> Model[Any] | None:
    """The model of a type's items in a table; None for a type of no tool."""
    kind = tool_class(type_name)
    return None if kind is None else model_of(kind.of(table))


@cache
def _in_table(kind: type[ToolItem], table: Table) -> type[Any]:
    key = _key_of(kind)
    type_name = f"_{kind.word}"
    body = {
        key.name: system_key(table)(staticmethod(key.after(key_word(type_name), is_apart=kind.is_apart()))),
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
    }
    options = {"table": table, "type": type_name, "version": kind.format_version}
    made = new_class(f"Table{kind.__name__}", (kind,), options, lambda namespace: namespace.update(body))
    table.refuse_taken(model_of(made))  # the types of other distributions are not known when a class is declared
    return made


def _key_of(kind: type[ToolItem]) -> ToolKey:
    return next(value for base in kind.__mro__ for value in vars(base).values() if isinstance(value, ToolKey))
