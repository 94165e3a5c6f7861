"""The types of what reads answer, and a query as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct

E_co = TypeVar("E_co", covariant=True)
I_co = TypeVar("I_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


class HasId(Protocol[I_co]):
    """An entity with an `id`."""

    @property
    def id(self) -> I_co: ...


class ReadOf(Protocol[R_co]):
    """A read that `db.together` takes, and the type of its answer: `T | None` of a key, `list[T]` of a query."""

    def __answers__(self) -> R_co: ...


class Every(Struct, Generic[E_co], frozen=True):
    """The items that a key with ANY or a range names, as a list: `Order.of_customer("c1").every()`."""

    query: Any

    if TYPE_CHECKING:

        def __answers__(self) -> list[E_co]: ...


def query_html(query: Any) -> str:
    """A query: the items that it reads, and the way, without values."""
    from singletable.html_table import html_table  # noqa: PLC0415 for notebooks only

    partition, sort = query.captured.templates
    rows = [
        ("returns", " or ".join(kind.__name__ for kind in query.kinds)),
        ("reads", f"index {query.index}" if query.index else f"table {query.model.table.name}"),
        ("partition key", partition.shown),
        ("sort key", sort.shown),
        *(("how", said) for said in query.said),
    ]
    return html_table(f"{type(query).__name__} {query.captured.shown}", (), rows)
