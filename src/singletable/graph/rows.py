"""The rows of a page: nodes, each with the edge that led to it and with the neighbours that were included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.foundation import Page, Position
from singletable.graph.edges import Edge
from singletable.graph.members import Member, has_more
from singletable.graph.nodes import Node
from singletable.graph.queries import Linked

F = TypeVar("F", bound=Node)
N_co = TypeVar("N_co", bound=Node, covariant=True)

SelectedMembers = Mapping[Linked[Any], Sequence[Member]]
"""A node's members by the value that selects them."""
NestedNeighbours = Mapping[tuple[Linked[Any], str], "Neighbours"]
"""The neighbours of neighbours, by the value that selects the latter and their key text."""


class Neighbours(Mapping[Linked[Any], "Sequence[Row[Any]]"]):
    """A node's neighbours by the value that selects them. Rows are made on access: most callers need only the nodes."""

    __slots__ = ("_below", "_selected", "_there", "completed")

    def __init__(
        self, selected: SelectedMembers, there: Mapping[str, Node], below: NestedNeighbours, complete: bool = False
    ) -> None:
        self._selected, self._there, self._below = selected, there, below
        self.completed: frozenset[type[Any]] = frozenset(linked.edge for linked in selected if complete)
        """The edge types whose edges were read where a node's edge set lacks some."""

    def only(self, linked: Sequence[Linked[Any]]) -> Neighbours:
        """The neighbours of some selecting values."""
        return Neighbours(
            {each: self._selected[each] for each in linked}, self._there, self._below, bool(self.completed)
        )

    def nodes(self, linked: Linked[F]) -> list[F]:
        """The neighbours that exist. KeyError for a value that was not included."""
        there: Mapping[str, Any] = self._there
        return [there[member.text] for member in self._selected[linked] if member.text in there]

    def __getitem__(self, linked: Linked[F]) -> list[Row[F]]:
        there: Mapping[str, Any] = self._there
        members = [member for member in self._selected[linked] if member.text in there]
        return [Row(there[m.text], m, self._below.get((linked, m.text), _NOTHING)) for m in members]

    def __contains__(self, linked: object) -> bool:
        return linked in self._selected

    def __iter__(self) -> Iterator[Linked[Any]]:
        return iter(self._selected)

    def __len__(self) -> int:
        return len(self._selected)


_NOTHING = Neighbours({}, {}, {})


class Row(Struct, Generic[N_co], frozen=True, gc=False):
    """One node of a page, the edge that led to it, and the neighbours that were included."""

    node: N_co
    edge: Any = None
    neighbours: Neighbours = _NOTHING

    def __repr__(self) -> str:
        return f"Row(node={self.node!r}, edge={self.edge!r})"

    @overload
    def linked(self, of: Linked[F]) -> list[F]: ...
    @overload
    def linked(self, of: type[F]) -> list[F]: ...
    def linked(self, of: type[Any] | Linked[Any]) -> list[Any]:
        """The neighbours of a class, each once, or those of one `including(...)`.

        Raises InvalidRequest for a class or value that was not included.
        """
        if isinstance(of, Linked):
            self._check_asked(of)
            return self.neighbours.nodes(of)
        nodes = [node for linked in self.neighbours for node in self.neighbours.nodes(linked) if isinstance(node, of)]
        return list({(node.__class__, node.id): node for node in nodes}.values())

    def rows(self, of: type[F] | Linked[F]) -> list[Row[F]]:
        """The same, as rows: with the mirrored attributes as `edge`, and their own neighbours."""
        if isinstance(of, Linked):
            self._check_asked(of)
            return self.neighbours[of]
        return [row for rows in self.neighbours.values() for row in rows if isinstance(row.node, of)]

    def _check_asked(self, of: Linked[Any]) -> None:
        if of not in self.neighbours:
            raise InvalidRequest(f"{of!r} was not asked for", hint="Pass the same value to including().")

    def more(self, *edges: type[Edge[Any, Any]]) -> bool:
        """Whether the node has edges of any of these types that this row does not include."""
        return has_more(self.node, *(edge for edge in edges if edge not in self.neighbours.completed))


class NodePage(Page[Row[N_co]]):
    """A page of rows."""

    __slots__ = ("missing",)

    def __init__(self, items: Sequence[Row[N_co]], position: Position | str | None = None, missing: int = 0) -> None:
        super().__init__(items, position)
        self.missing = missing

    """Edges of the page whose node was missing when it was read."""
