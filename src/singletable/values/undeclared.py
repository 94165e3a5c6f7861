"""Undeclared values that an object carries: attributes that a newer program, or another one, wrote.

    order = db.get(Order.by_number(1))      # the stored item has `priority` too, which this program doesn't know
    order.state = "paid"
    db.put(order)                           # writes `priority` as it was read

It lies in the object's `__dict__`, under a name that is no attribute: so `copy`, `deepcopy` and pickle keep it, while
`==`, `hash`, `repr` and `asdict` don't see it. `dataclasses.replace` makes a new object, which has none. An object with
slots has no place for it: the nearest object around it has, for as long as it holds that very object.

The reader of `codecs` finds what is undeclared at no cost where there is nothing: its fast decoder refuses names that
it doesn't know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, structs, to_builtins

from singletable.errors import InvalidRequest
from singletable.values.untyped import AttributeValue

T = TypeVar("T")
Attributes = Mapping[str, AttributeValue]
AsRead = Mapping[str, tuple[AttributeValue | None, AttributeValue | None]]
"""Attributes by stored name: what the object that was read would write, and what was stored; None for nothing."""
Inside = tuple[tuple[Any, Attributes], ...]
"""Objects with slots, with what each of them would carry."""

UNDECLARED: Final = "__undeclared__"
_NOTHING: Final[Mapping[int, Attributes]] = {}
AS_WRITTEN: Final[AsRead] = {}
_only_declared: ContextVar[bool] = ContextVar("only declared attributes are written", default=False)
_slotted_read: ContextVar[list[tuple[Any, Attributes]] | None] = ContextVar("objects with slots, read", default=None)
_slotted_written: ContextVar[Mapping[int, Attributes]] = ContextVar("the same, to be written", default=_NOTHING)
slotted_now: Callable[[], Mapping[int, Attributes]] = _slotted_written.get


class Undeclared(Struct, frozen=True):
    """The stored attributes of one object that its class doesn't declare."""

    attributes: Attributes
    inside: Inside = ()
    is_known: bool = True
    """Whether they are all: only a part of the item was read otherwise, so that the whole can't be written."""
    as_read: AsRead = {}
    """Declared attributes whose stored form was another than is written: `values.stored_forms`."""

    def completed(self, item: dict[str, AttributeValue], known: Collection[str]) -> dict[str, AttributeValue]:
        """An item with the undeclared attributes, and with the others as they were where their values are."""
        done = {**item, **{name: inner for name, inner in self.attributes.items() if name not in known}}
        for name, (written, stored) in self.as_read.items():
            if to_builtins(item.get(name)) == written:
                done.pop(name, None)
                done |= {} if stored is None else {name: stored}
        return done

    def __repr__(self) -> str:
        """Without values, which may be personal."""
        return f"<{len(self.attributes)} undeclared attributes>"


IN_PART: Final = Undeclared({}, is_known=False)


def as_read_of(value: object) -> AsRead:
    """The declared attributes that an object carries in their stored form."""
    kept: Undeclared | None = vars(value).get(UNDECLARED) if hasattr(value, "__dict__") else None
    return AS_WRITTEN if kept is None else kept.as_read  # the class itself may answer for any name, or fail


def in_declared_forms(value: T) -> T:
    """The object itself, which from now on writes all that is declared in the forms of its class."""
    kept: Undeclared | None = getattr(value, UNDECLARED, None)
    if kept is not None and kept.as_read:
        vars(value)[UNDECLARED] = structs.replace(kept, as_read=AS_WRITTEN)
    return value


def undeclared_in(value: object) -> Attributes:
    """The undeclared attributes that an object carries, by their stored names, in their stored form."""
    kept: Undeclared | None = getattr(value, UNDECLARED, None)
    return {} if kept is None else kept.attributes


def changed(value: T, **values: Any) -> T:
    """A changed copy of a dataclass's object, which carries the same as the object."""
    made: Any = replace(cast(Any, value), **values)
    kept: Undeclared | None = getattr(value, UNDECLARED, None)
    if kept is not None:
        vars(made)[UNDECLARED] = kept
    return cast("T", made)


@contextmanager
def only_declared() -> Generator[None, None, None]:
    """Inside the block items are made of what classes declare, also of objects that carry more."""
    token = _only_declared.set(True)
    try:
        yield
    finally:
        _only_declared.reset(token)


@contextmanager
def reading_inside() -> Generator[list[tuple[Any, Attributes]], None, None]:
    """The objects with slots that are read inside the block, with what they can't carry."""
    slotted: list[tuple[Any, Attributes]] = []
    token = _slotted_read.set(slotted)
    try:
        yield slotted
    finally:
        _slotted_read.reset(token)


@contextmanager
def writing_inside(slotted: Collection[tuple[Any, Attributes]]) -> Generator[None, None, None]:
    """Inside the block these objects with slots are written with what they can't carry."""
    token = _slotted_written.set({**slotted_now(), **{id(each): attributes for each, attributes in slotted}})
    try:
        yield
    finally:
        _slotted_written.reset(token)


def carry(
    made: Any, attributes: Attributes, slotted: Collection[tuple[Any, Attributes]], as_read: AsRead = AS_WRITTEN
) -> None:
    """Let an object carry undeclared attributes, and those of the objects with slots inside it."""
    if hasattr(made, "__dict__"):
        vars(made)[UNDECLARED] = Undeclared(attributes, tuple(slotted), as_read=as_read)
        return
    around = _slotted_read.get()
    if around is None:
        raise ValueError("the object around it is read by the fast path, which carries nothing")
    around += [*slotted, (made, attributes)]


def completed(
    item: dict[str, AttributeValue],
    value: Any,
    known: Collection[str],
    dump: Callable[[Any], dict[str, AttributeValue]],
) -> dict[str, AttributeValue]:
    """An object's item, with what it carries. Raises InvalidRequest for one that was read in part."""
    if _only_declared.get():
        return item
    kept: Undeclared = getattr(value, UNDECLARED)
    if not kept.is_known:
        raise InvalidRequest(
            f"{type(value).__name__} was read in part, so the whole can't be written: its item may have more",
            hint="Read it without only(...), or update() what you mean to change.",
        )
    if kept.inside and id(kept.inside[0][0]) not in slotted_now():
        with writing_inside(kept.inside):
            return dump(value)
    return kept.completed(item, known)


def completed_slotted(item: Attributes, value: Any) -> Attributes:
    """The same of an object with slots, inside one that knows what it would carry."""
    return {**slotted_now().get(id(value), {}), **item}
