"""Keys that don't tell their values apart: refused when the class is made, or `ambiguous=True` in its declaration.

Other programs' keys may be so: `{email:lower}` is one text for 'Ada' and 'ADA', and with `__` between two texts, 'a_'
and 'b' make the key of 'a' and '_b'. Where the class says `ambiguous=True`, its key has the values that it was asked
with: each write holds them as a condition, and reads leave out the items of others. docs/how-to/declare-keys.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from msgspec.structs import replace

from singletable.errors import DeclarationError
from singletable.expressions import Condition, Handle
from singletable.schema.capture import ANY
from singletable.schema.key_bounds import Range
from singletable.schema.key_text import Template
from singletable.schema.patterns import Captured, KeyOf, Query

Templates = tuple[Template, Template]


class AskedKey(KeyOf[Any], frozen=True, gc=False):
    """The key of one item, with the values that it was made of: another item could lie under the same texts."""

    given: tuple[tuple[str, Any], ...] = ()

    @property
    def held(self) -> Condition:
        """The item has these values."""
        return _equal(self.kinds[0], dict(self.given))

    def is_of(self, entity: Any, *, exactly: bool = False) -> bool:
        """Whether an item has these values; those in a form that several values share count only if `exactly`."""
        alike = frozenset[str]() if exactly else _alike(self.captured)
        return all(getattr(entity, name) == value for name, value in self.given if name not in alike)

    def only(self, *attributes: Any) -> Self:
        """Load these attributes, and those of the key."""
        key = super().only(*attributes)
        return replace(key, attributes=tuple(dict.fromkeys((*key.attributes, *dict(self.given)))))


class AmbiguousPattern(Captured, frozen=True, eq=False, dict=True):
    """A pattern of a class that says `ambiguous=True`."""

    def query(self, result: type[Query[Any]], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        query: Query[Any] = super().query(result, args, kwargs)
        given = {n: v for n, v in self._bind(args, kwargs).items() if v is not ANY and v.__class__ is not Range}
        if self.index is None and query.is_one_key:
            return asked_key(query, given)
        partition, sort = self.templates
        pairs = ((partition, partition.meeting), (sort, sort.meeting_when_open))
        doubtful = {name for template, meeting in pairs if meeting for name in template.names}
        doubtful -= _alike(self)
        return _filtered(query, {name: value for name, value in given.items() if name in doubtful})

    def direct(self, result: type[Query[Any]]) -> Callable[..., Any]:
        return lambda *args: self.query(result, args, {})


def asked_key(key: Query[Any], given: Mapping[str, Any]) -> AskedKey:
    """A key with the values of its attributes."""
    names = dict.fromkeys(name for template in key.captured.templates for name in template.names)
    values = tuple((name, given[name]) for name in names)
    return AskedKey(key.kinds, key.captured, key.partition, key.low, key.high, key.bound, given=values)


def untold_of(templates: Templates) -> frozenset[str]:
    """The names of the values that neither text of a key tells."""
    told = {name for template in templates for name in template.names if name not in template.untold}
    return templates[0].untold.union(templates[1].untold) - told


def check_told(where: str, templates: Templates, *, primary: bool) -> None:
    """Raise DeclarationError for a key that different values could share, with such values."""
    untold = untold_of(templates)
    partition, sort = templates
    for template, meeting in ((partition, partition.meeting), (sort, sort.meeting_when_open)):
        slots = [slot for _, slot in template.segments if slot and slot.key_type.alike and slot.name in untold]
        example = meeting or (f"{slots[0].key_type.alike} give one text" if primary and slots else "")
        if example:
            raise DeclarationError(
                f"{where}: {template.shown} does not tell its values apart: {example}",
                hint="Separate the values by a sign that none of them holds, or take a form that tells them apart; or, "
                "for a table that is so already, class X(Entity, ..., ambiguous=True): each write compares the values.",
            )


def _alike(captured: Captured) -> frozenset[str]:
    """The attributes of a key that are only in forms which several values share."""
    (partition, sort), names = captured.templates, {name for t in captured.templates for name in t.names}
    return frozenset(n for n in names if all(n in t.alike for t in (partition, sort) if n in t.names))


def _equal(kind: type[Any], values: Mapping[str, Any]) -> Condition:
    first, *more = [Condition("=", (Handle(kind, name), value)) for name, value in values.items()]
    for condition in more:
        first &= condition
    return first


def _filtered(query: Query[Any], values: Mapping[str, Any]) -> Query[Any]:
    if not values:
        return query
    same = _equal(query.captured.owner, values)
    return replace(query, filter=same if query.filter is None else query.filter & same)
