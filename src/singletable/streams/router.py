"""From a stream's record to its handlers: the types, the events, and the entities before and after.

A record says INSERT, MODIFY or REMOVE of an item; a handler is called for an entity. They differ where an item's type
changed (one removed, another inserted), where it had expired (expired, then inserted), and where nothing changed.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from singletable.errors import NotConfigured
from singletable.events import ChangesPassedOver, Listeners, TraceContext
from singletable.flow import instant
from singletable.foundation import Model, Table
from singletable.operations import CONTEXT_ATTRIBUTE, StreamRecord, is_there, read_item, read_one
from singletable.streams.events import AnyChange, Expired, Inserted, Modified, Removed
from singletable.values import json_decoder

What = Literal["inserted", "modified", "removed", "expired"]
_SETS = frozenset({"SS", "NS", "BS"})
_SWITCH = (
    'Declare Table(..., stream="new_and_old"). A view can\'t be changed: `singletable plan` and `apply` end the stream '
    "and begin another, whose ARN an event source mapping then needs."
)


class Handler(Struct, frozen=True):
    """A function of the application, and the event that it is called for."""

    type: str
    what: What
    function: Callable[..., Any]
    attributes: tuple[str, ...] = ()
    """Called when one of these changed; when any changed, without them."""
    is_flow: bool = False
    """The library's own: it takes the port too."""

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def lacks_in(self, view: str) -> str:
        """The image that it lacks in a stream of this view, in the service's spelling; "" if it lacks nothing."""
        needed = "NEW_IMAGE" if self.what == "inserted" else "NEW_AND_OLD_IMAGES"
        if view in (needed, "NEW_AND_OLD_IMAGES"):
            return ""
        return f"the stream's records hold {view}, and handlers of {self.what} {self.type} items need {needed}"

    def wants(self, change: AnyChange) -> bool:
        if not self.attributes or not isinstance(change, Modified):
            return True
        old, new = change.old, change.new
        return any(getattr(old, name) != getattr(new, name) for name in self.attributes)


class _Glance(NamedTuple):
    """The parts of an image that decide the event."""

    type: str
    ends: float | None
    """When it expires, in seconds since 1970."""
    is_there: bool
    """The image exists, and its item is not being deleted."""


class RecordEvents(Struct, frozen=True, gc=False):
    """The types and events of a record, looked up once: when it comes in."""

    types: tuple[str, str]
    """The item's type before and after; "" without an image."""
    steps: tuple[tuple[str, What], ...]
    """The events, with the types that they happen to."""


class Router:
    """The handlers of one registry by type and event."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.unknown: Counter[str] = Counter()
        """The number of records without a handler, by `type#EVENT`."""
        self.gaps = 0
        self.passed_over = 0
        """The number of records with a handler that were made while the table was held."""
        self._handlers: dict[tuple[str, What], list[Handler]] = {}
        self._neediest: Handler | None = None

    def add(self, handler: Handler) -> None:
        if self._neediest is None or self._neediest.what == "inserted":
            self._neediest = handler
        self._handlers.setdefault((handler.type, handler.what), []).append(handler)

    @property
    def handlers(self) -> Iterator[Handler]:
        """Every handler."""
        return chain.from_iterable(self._handlers.values())

    def check_view(self, view: str) -> None:
        """NotConfigured for a stream of a view without the images that the handlers need: they would not be called."""
        if self._neediest is not None and (lack := self._neediest.lacks_in(view)):
            raise NotConfigured(lack, table=self.table.name, operation="handle changes", hint=_SWITCH)

    def events_of(self, record: StreamRecord) -> RecordEvents:
        """The types and events of a record. NotConfigured for a view that the handlers can't work with."""
        self.check_view(record.view)
        images = record.dynamodb
        old, new = self._look(images.old_image), self._look(images.new_image)
        return RecordEvents((old.type, new.type), tuple(_steps(record, old, new)))

    def is_system(self, events: RecordEvents) -> bool:
        """Whether it is about bookkeeping of the library's own, such as a lease. A document's items are data."""
        types = [type for type in events.types if type]
        return bool(types) and all(type.startswith("_") for type in types)

    def is_wanted(self, record: StreamRecord, events: RecordEvents) -> bool:
        """Whether it may have a handler. One without is counted in `unknown`, unless it is the library's own."""
        wanted = any(step in self._handlers for step in events.steps)
        if events.steps and not wanted and not self.is_system(events):
            self.unknown[_named(record, events.types)] += 1
        return wanted

    @contextmanager
    def passing_over(self, before: float, events: Listeners) -> Generator[Callable[[StreamRecord], bool]]:
        """A function that says whether a record that has a handler is passed over, as it was made before a time. They
        are counted, and told at the end of the block."""
        count = 0

        def is_old(record: StreamRecord) -> bool:
            nonlocal count
            old = record.dynamodb.approximate_creation_date_time < before
            count += old
            return old

        yield is_old
        if count:
            self.passed_over += count
            events.emit(ChangesPassedOver(table=self.table.name, count=count))

    def hash_of(self, record: StreamRecord, events: Listeners) -> str:
        """The hash of its item's key, for events."""
        keys = (value for _, value in sorted(record.dynamodb.keys.items()))
        return events.hash_of(*(text for value in keys for text in map(str, value.values())))

    def contexts_of(self, record: StreamRecord) -> tuple[TraceContext, ...]:
        """The context of the trace in which a change was made, if there is one. One that the item had before is that of
        an earlier change: this one was made without."""
        images = record.dynamodb
        old, new = (_context_in(image) if is_there(image) else None for image in (images.old_image, images.new_image))
        context = None if new == old else TraceContext.of_text(new)
        return () if context is None else (context,)

    def name_of(self, record: StreamRecord) -> str:
        """`type#EVENT`, by the type that the item has or had."""
        images = record.dynamodb
        return _named(record, (self._look(images.old_image).type, self._look(images.new_image).type))

    def calls(self, record: StreamRecord, events: RecordEvents) -> Iterator[tuple[Handler, AnyChange]]:
        """The handlers of a record, in the order of their declaration, each with its change. Raises if an image
        can't be read."""
        images = record.dynamodb
        if _is_unchanged(images.old_image, images.new_image, self.table):
            return
        for type, what in events.steps:
            handlers = self._handlers.get((type, what), ())
            change = self._change(type, what, record) if handlers else None
            for handler in handlers:
                if change is not None and handler.wants(change):
                    yield handler, change

    def _look(self, image: Raw) -> _Glance:
        if not is_there(image):
            return _Glance("", None, is_there=False)
        definition = self.table.definition
        glance = _peek(definition.type_attribute, self.table.ttl_name)(image)
        type_: Mapping[str, Any] = glance.type or {}
        ends: Mapping[str, Any] = glance.ends or {}
        type = self.table.type_of(read_item(image)) if definition.foreign else str(type_.get("S", ""))
        model = self.table.model_of_type(type)
        lives = model is None or not model.tombstone or model.tombstone not in read_item(image)
        return _Glance(type, float(ends["N"]) if "N" in ends else None, lives)

    def _change(self, type: str, what: What, record: StreamRecord) -> AnyChange:
        model: Model[Any] | None = self.table.model_of_type(type)
        assert model is not None
        images = record.dynamodb
        at = instant(images.approximate_creation_date_time)
        common: dict[str, Any] = {"sequence": record.sequence, "time": at, "event": record.event}
        old = None if what == "inserted" else read_one(images.old_image, model)
        new = read_one(images.new_image, model) if what in ("inserted", "modified") else None
        common["key"] = model.key_of(old if new is None else new)
        if what == "modified":
            return Modified(**common, old=old, new=new)
        if what == "inserted":
            return Inserted(**common, new=new)
        return (Expired if what == "expired" else Removed)(**common, old=old)


def _named(record: StreamRecord, types: tuple[str, str]) -> str:
    old, new = types
    return f"{new or old}#{record.event}"


def _steps(record: StreamRecord, old: _Glance, new: _Glance) -> list[tuple[str, What]]:
    images = record.dynamodb
    if record.event == "MODIFY" and not (is_there(images.old_image) and is_there(images.new_image)):
        return []  # a stream of new images only: the old state is unknown
    had_ended = _is_by_ttl(record) or (old.ends is not None and old.ends <= images.approximate_creation_date_time)
    if old.is_there and new.is_there and old.type == new.type and not had_ended:
        return [(new.type, "modified")]
    gone: What = "expired" if had_ended else "removed"
    steps: list[tuple[str, What]] = [(old.type, gone), (new.type, "inserted")]
    return [step for step, look in zip(steps, (old, new), strict=True) if look.is_there]


class _Carrying(Struct, frozen=True, gc=False):
    context: dict[str, Any] | None = field(default=None, name=CONTEXT_ATTRIBUTE)


_carrying = json_decoder(_Carrying).decode


def _context_in(image: Raw) -> object:
    """The stored text of a trace's context, which may be any program's."""
    stored = _carrying(image).context
    return None if stored is None else stored.get("S")


_PEEKS: dict[tuple[str, str], Callable[[Raw], Any]] = {}


def _peek(type_attribute: str, ttl_attribute: str) -> Callable[[Raw], Any]:
    """A decoder of two attributes of an item."""
    names = type_attribute, ttl_attribute
    if names not in _PEEKS:
        attribute = dict[str, Any] | None
        fields = [("type", attribute, None), ("ends", attribute, None)]
        looks: Any = msgspec.defstruct(
            "Looks", fields, rename=dict(zip(("type", "ends"), names, strict=True)), gc=False
        )
        _PEEKS[names] = json_decoder(looks).decode
    return _PEEKS[names]


def _is_by_ttl(record: StreamRecord) -> bool:
    return record.author is not None and record.author.is_expiry


def _is_unchanged(old: Raw, new: Raw, table: Table) -> bool:
    """Some engines record writes that changed nothing; DynamoDB doesn't. A new write id alone is not a change."""
    if not (is_there(old) and is_there(new)):
        return False
    before, after = _attributes(old), _attributes(new)
    for item in (before, after):
        item.pop(table.definition.write_id_attribute, None)
        item.pop(table.definition.context_attribute, None)
    return before.keys() == after.keys() and all(_is_same(value, after[name]) for name, value in before.items())


_attributes: Callable[[Raw], dict[str, Raw]] = json_decoder(dict[str, Raw]).decode
_value_of: Callable[[Raw], Mapping[str, Any]] = json_decoder(dict[str, Any]).decode


def _is_same(one: Raw, other: Raw) -> bool:
    """Whether two attributes are equal: nearly all are by their bytes, and the rest may be in another order."""
    return one == other or _unordered(_value_of(one)) == _unordered(_value_of(other))


def _unordered(value: Mapping[str, Any]) -> Any:
    kind = next(iter(value))
    return frozenset(value[kind]) if kind in _SETS else value
