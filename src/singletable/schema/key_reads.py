"""Queries by keys: `query.keys()` answers the keys of its items, `query.hydrated()` reads the items under them.

An index may hold less than its items' classes declare. What it has of each item are the keys: its own, and the table's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn, TypeVar

from singletable.errors import InvalidRequest
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import Answers, KeyOf, Query

E_co = TypeVar("E_co", covariant=True)
Q = TypeVar("Q", bound=Query[Any])


class KeysQuery(Query[KeyOf[E_co]], frozen=True, gc=False):
    """The keys of a query's items, in its order."""

    answers: ClassVar[Answers] = "keys"

    @property
    def said(self) -> tuple[str, ...]:
        return (*super().said, "keys alone")

    def only(self, *attributes: Any) -> NoReturn:
        raise _unlike(self, "only(...)", "keys()")

    def also(self, kind: type[Any]) -> NoReturn:
        raise InvalidRequest(f"{self.captured.shown}: also(...) comes before keys()")


class HydratedQuery(Query[E_co], frozen=True, gc=False):
    """The items as the table has them, under the keys that a query answers."""

    answers: ClassVar[Answers] = "items by key"
    has_parts: ClassVar[bool] = True

    @property
    def said(self) -> tuple[str, ...]:
        return (*super().said, "hydrated")

    @property
    def parts(self) -> tuple[Query[Any], ...]:
        """The query of the keys."""
        return (made_by_key(self, KeysQuery),)

    def only(self, *attributes: Any) -> NoReturn:
        raise _unlike(self, "only(...)", "hydrated()")


def made_by_key(query: Query[Any], kind: type[Q]) -> Q:
    """The same query, of another kind of answers. InvalidRequest for one whose answers are settled already."""
    if query.attributes:
        raise _unlike(query, "only(...)", "keys() or hydrated()")
    if query.has_parts and query.answers == "items":
        raise InvalidRequest(
            f"{query.captured.shown} reads several partitions, whose keys are not answered alone",
            hint="Read the items: the keys are theirs, key_of(item).",
        )
    common = query.kinds, query.captured, query.partition, query.low, query.high, query.bound
    return kind(*common, query.filter, query.descending, query.strong)


def whole_items(query: Query[E_co]) -> Query[E_co]:
    """The query of whole items: hydrated, where its index holds less than their classes declare."""
    index = query.index
    if index is None or not any(missing_in(model_of(kind), index) for kind in query.kinds):
        return query
    return query.hydrated()


def missing_in(model: Model[Any], index: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """The attributes of a class that an index does not hold, of some of them or of all."""
    held = model.table.definition.held_by(index)
    if held is None:
        return ()
    fields = [model.by_name[name] for name in names or model.by_name if name in model.by_name]
    return tuple(field.name for field in fields if field.stored not in held and not field.is_in_key)


def _unlike(query: Query[Any], one: str, other: str) -> InvalidRequest:
    return InvalidRequest(
        f"{query.captured.shown}: {one} loads some attributes, and {other} none of the index's",
        hint=f"Omit {one}, or read the index without {other}.",
    )
