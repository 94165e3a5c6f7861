"""The bounds of a range of keys: exactly the keys that are wanted lie between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.expressions import Condition, Handle
from singletable.schema.capture import ANY
from singletable.schema.key_text import MAX_SORT_BYTES, Slot, Template
from singletable.values import TOP, LoneValue

_GREATEST = ("", "\x7f", "\u07ff", "\uffff")
"""The greatest text of each length in bytes."""


class Range(Struct, frozen=True):
    """An argument for several values. `how` is the name of the function that made it."""

    how: str
    low: Any = None
    high: Any = None

    def __repr__(self) -> str:
        return f"<{self.how}(...)>"


class SortedPattern(Protocol):
    """The part of a pattern that a range needs."""

    @property
    def owner(self) -> type[Any]: ...
    @property
    def templates(self) -> tuple[Template, Template]: ...
    @property
    def shown(self) -> str: ...


class OpenSort(Struct, frozen=True):
    """The sort keys with some values: between two texts, in a part of the template, of those that meet a filter."""

    low: str
    high: str
    part: int
    filter: Condition | None = None


def open_sort(pattern: SortedPattern, given: Mapping[str, Any], open_: str | None) -> OpenSort:
    """The sort keys where `open_` is ANY or a range, and the names after it are ANY; or the one sort key, without it.
    InvalidRequest for other names, and for a range over what has no order."""
    sort = pattern.templates[1]
    if open_ is None:
        whole = sort.write(given)
        return OpenSort(whole, whole, len(sort.parts))
    at = sort.names.index(open_)
    for later in sort.names[at + 1 :]:
        if given[later] is not ANY:
            ordered = ", then ".join(sort.names)
            raise InvalidRequest(
                f"{pattern.shown}: {later} needs {open_} before it, as one value: keys sort by {ordered}"
            )
    known = {name: given[name] for name in sort.names[:at]}
    part = next(i for i, p in enumerate(sort.parts) if p.slot and p.slot.name == open_)
    slot, wanted = sort.parts[part].slot, given[open_]
    if not isinstance(wanted, Range):
        prefix = sort.prefix(known)
        return OpenSort(prefix, prefix + TOP, part)
    assert slot
    _check_ordered(pattern, slot, wanted)
    filter = _within_periods(pattern.owner, open_, wanted) if slot.key_type.is_truncated else None
    low, high = bounds(sort, known, slot, wanted if filter is None else _periods(wanted))
    if wanted.how == "between" and sort.comparable(low) > sort.comparable(high):
        raise InvalidRequest(f"{pattern.shown}: between() takes the lower value of {open_} first")
    return OpenSort(low, high, part, filter)


def one_period(partition: Template, name: str, wanted: Any) -> Any:
    """A value in a partition key for a range whose ends lie in one of its periods, as in one day; None for others."""
    slots = [slot for _, slot in partition.segments if slot and slot.name == name]
    if not isinstance(wanted, Range) or wanted.how != "between" or not slots:
        return None
    is_one = all(
        slot.key_type.is_truncated and partition.text_of(slot, wanted.low) == partition.text_of(slot, wanted.high)
        for slot in slots
    )
    return wanted.low if is_one else None


def shard_texts(pattern: SortedPattern, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The partition keys of all shards. InvalidRequest for a range over what the key has the shard of alone."""
    partition, sort = pattern.templates
    slot = partition.spread
    assert slot is not None
    if given[slot.name] is not ANY and slot.name not in sort.names:
        raise InvalidRequest(
            f"{pattern.shown}: {slot.name} is in the key as its shard alone, which takes one value, or all",
            hint=f"Leave {slot.name} out, and filter by it with where().",
        )
    return tuple(partition.write({**given, slot.name: number}) for number in slot.key_type.shards)


def _check_ordered(pattern: SortedPattern, slot: Slot, wanted: Range) -> None:
    sort = pattern.templates[1]
    place = sort.place_of(slot)
    takes_beginnings = slot.key_type.takes_beginnings(place)
    if not sort.orders(slot) and not (wanted.how == "starting_with" and takes_beginnings):
        raise InvalidRequest(
            f"{pattern.shown}: {slot.name} takes no range: {slot.key_type.why_unordered(place)}",
            hint="Ask for one value, or for what begins with a text: starting_with()."
            if takes_beginnings
            else "Use a table with '#', or put the text last in the key; give a number a width, as {number:06}.",
        )


def _periods(wanted: Range) -> Range:
    """The range with the whole periods that its ends lie in."""
    return Range({"before": "at_most", "after": "at_least"}.get(wanted.how, wanted.how), wanted.low, wanted.high)


def _within_periods(owner: type[Any], name: str, wanted: Range) -> Condition:
    """The range as a condition on the attribute itself."""
    ends = (
        (">" if wanted.how == "after" else ">=", wanted.low),
        ("<" if wanted.how == "before" else "<=", wanted.high),
    )
    first, *more = [Condition(how, (Handle(owner, name), value)) for how, value in ends if value is not None]
    return first & more[0] if more else first


def bounds(template: Template, known: Mapping[str, Any], slot: Slot, range: Range) -> tuple[str, str]:
    """The bounds, both inclusive, of exactly the wanted keys."""
    if isinstance(slot.key_type, LoneValue) and slot.key_type.kind != "S":
        return slot.key_type.bounds(slot.name, range.how, range.low, range.high)
    place = template.place_of(slot)
    head, last, s = template.prefix(known), place.is_last, place.separator

    def text(value: Any) -> str:
        return head + template.text_of(slot, value)

    if range.how == "starting_with":
        start = text(range.low)
        return start, start + TOP
    low, high = head, head + TOP
    if range.low is not None:
        low = text(range.low)
        if range.how == "after":
            low += "\0" if last else s + TOP
        elif not last:
            low += s
    if range.high is not None:
        top = text(range.high)
        if range.how == "before" and top == head:
            return head + TOP, head + TOP  # nothing is less than the empty text, and no key is this one
        high = below(top) if range.how == "before" else top + ("" if last else s + TOP)
    return (low, high) if high else (TOP, TOP)  # an empty text is not a key, and DynamoDB refuses it as a bound


def below(text: str) -> str:
    """The greatest text below, DynamoDB's BETWEEN having no open end."""
    code = ord(text[-1])
    if code == 0:
        return text[:-1]
    return text[:-1] + chr(0xD7FF if code == 0xE000 else code - 1) + TOP


def within(low: str, high: str, limit: int = MAX_SORT_BYTES) -> tuple[str, str]:
    """The same range of keys, by bounds that are no longer than a key: DynamoDB refuses others."""
    if max(len(low), len(high)) <= limit // 4:
        return low, high
    low, high = _not_below(low, limit), _not_above(high, limit)
    return (low, high) if low.encode() <= high.encode() else (TOP, TOP)


def _not_above(text: str, limit: int) -> str:
    """The greatest text of at most `limit` bytes that is not above. A shorter result is less than the cut character."""
    kept = _cut(text, limit)
    return text if kept == text else kept + _GREATEST[limit - len(kept.encode())]


def _not_below(text: str, limit: int) -> str:
    """The least text of at most `limit` bytes that is not below; U+10FFFF for none. Its longer forms are below."""
    kept = _cut(text, limit)
    if kept == text:
        return text
    while kept:
        kept, code = kept[:-1], ord(kept[-1]) + 1
        least = kept + chr(0xE000 if code == 0xD800 else min(code, ord(TOP)))
        if len(least.encode()) <= limit:
            return least
    return TOP


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
