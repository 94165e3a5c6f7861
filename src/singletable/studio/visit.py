"""A visit: the part of a request that a page uses."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from singletable.database_async import AsyncDatabase
from singletable.errors import Denied, InvalidRequest, NotFound
from singletable.events import ItemWritten
from singletable.foundation import COVERED, Table, Unreadable, covered_place, entity_name
from singletable.studio.addresses import Addresses, Place
from singletable.studio.site import Site, model_of_type, name_of_type
from singletable.studio.view import UnreadItem

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Visit:
    """One request: who asks, for what, and what they may see."""

    site: Site
    links: Addresses
    user: str
    path: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parts of the path that the page's path names."""
    query: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    form: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The sent fields, for an action."""
    reads: frozenset[type[Any]] | None = None
    """The classes that the user may read; None for all."""
    asks_to_write: Callable[[type[Any]], Awaitable[bool]] | None = None
    """Whether the user may write a class; None: every class."""
    form_token: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    """The studio's own for this user: no page shows it."""
    unread: list[Unreadable] = field(default_factory=list["Unreadable"])
    """The items that the reads of a page pass over, by `unreadable=visit.unread.append`: each page names them."""

    @property
    def db(self) -> AsyncDatabase:
        """The database of the studio."""
        return self.site.db

    @property
    def covered(self) -> bool:
        """Whether personal values are covered."""
        return not self.links.personal

    @cached_property
    def table(self) -> Table:
        """The table that the path names as `{table}`; NotFound if no table has that name."""
        name = self.path.get("table", "")
        chosen = self.site.table_named(name)
        if chosen is None:
            known = ", ".join(table.name for table in self.site.tables)
            raise NotFound("this studio shows no such table", table=name, hint=f"It shows {known}.")
        return chosen

    @cached_property
    def key(self) -> Place:
        """The key that the address names."""
        return self.links.key_in(self.table.name, {**self.query, **self.form})

    @property
    def reads_all(self) -> bool:
        """Whether the user may read every class, and so what is of no class: guards, tasks, leases."""
        return self.reads is None

    def may_read(self, kind: type[Any] | None) -> bool:
        """Whether the user may read a class; for what is of no class of the application, whether they may read all."""
        return self.reads is None or (kind is not None and kind in self.reads)

    def may_read_type(self, table: Table, type_name: str) -> bool:
        """Whether the user may read the class of a stored type."""
        model = model_of_type(table, type_name)
        return self.may_read(model.kind if model is not None and not model.is_system else None)

    @cached_property
    def _hidden(self) -> re.Pattern[str] | None:
        """The names of what the user may not read, as declarations have them: of classes, and in keys of nodes."""
        models = [model for table in self.site.tables for model in table.models if not model.is_system]
        kinds = [model.kind for model in models if not self.may_read(model.kind)]
        names = {name for kind in kinds for name in (kind.__name__, getattr(kind, "__word__", kind.__name__))}
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b") if names else None

    def told(self, declared: T) -> T:
        """A text of the declarations, or a view of them, without the names of classes that the user may not read."""
        value: Any = declared
        if self._hidden is None:
            return declared
        if isinstance(value, str):
            value = self._hidden.sub("…", value)
        elif isinstance(value, tuple):
            value = tuple(map(self.told, cast("tuple[Any, ...]", declared)))
        elif isinstance(value, Struct):
            value = replace(value, **{name: self.told(getattr(value, name)) for name in value.__struct_fields__})
        return cast("T", value)

    def must_read_all(self) -> None:
        """Raise Denied unless the user may read every class. An item of a class that they may not read is not found."""
        if not self.reads_all:
            raise Denied("you may not read all classes here")

    async def may_write(self, kind: type[Any]) -> bool:
        """Whether a class can be written here, by this user."""
        if not (self.site.write and self.may_read(kind)):
            return False
        return self.asks_to_write is None or await self.asks_to_write(kind)

    async def must_write(self, kind: type[Any]) -> None:
        """Raises Denied unless the user may write a class."""
        if not await self.may_write(kind):
            raise Denied(f"you may not write {kind.__name__} here")

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """A number of the query, from `least` to `most`."""
        return whole_number(name, self.query.get(name) or str(default), most, least)

    def shown_place(self, table: Table, type_name: str, place: Place) -> Place:
        """An item's key as it may be shown."""
        return covered_place(table, type_name, place) if self.covered else place

    def item_address(self, table: Table, type_name: str, place: Place) -> str:
        """The page of an item, by an address that shows no covered value."""
        shown = self.shown_place(table, type_name, place)
        return self.links.item(table.name, place, hidden=COVERED in "".join(shown))

    def unread_items(self) -> tuple[UnreadItem, ...]:
        """The items that were passed over, each with its page."""
        return tuple(map(self._unread_item, self.unread))

    def _unread_item(self, each: Unreadable) -> UnreadItem:
        model, error = each.key.model, each.error
        address = self.item_address(model.table, model.type, (each.key.partition, each.key.low))
        why = f"{error.attribute}: {error.what}" if error.attribute else error.what
        return UnreadItem(self.told(entity_name(model.kind)), address, self.told(why))

    def log_write(self, did: str, table: Table, type_name: str, place: Place) -> None:
        """Say that an item was written: who, what, which class, and the hash of its key."""
        events, kind = self.site.db.port.events, name_of_type(table, type_name)
        written = ItemWritten(
            user=self.user, action=did, table=table.name, entity=kind, key_hash=events.hash_of(*place)
        )
        events.emit(written)


def whole_number(name: str, text: str, most: int, least: int = 0) -> int:
    """A number that a visitor typed. InvalidRequest for another one, and for one of more digits than the largest."""
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most:
        return int(text)
    raise InvalidRequest(f"{name}= is a number from {least} to {most}")
