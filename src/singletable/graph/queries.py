"""Queries of a graph, as values: the ends of edges, edges of a node or of an index, the nodes at their ends."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args

from msgspec.structs import replace

from singletable.expressions import Condition, Handle
from singletable.foundation import TOP, Entity, KeyOf, Query, model_of
from singletable.graph.member_conditions import Test, test_of
from singletable.graph.nodes import Node, end_type, kinds_of, node_key

N = TypeVar("N", bound=Node)
S = TypeVar("S", bound=Node)
T = TypeVar("T", bound=Node)


class End(Generic[N]):
    """An edge's end. It is set with a node or a node's key, and reads as the key."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, edge: object, owner: type[Any]) -> KeyOf[N]:
        if edge is None:
            return cast("KeyOf[N]", Handle(owner, self.name))
        return cast("KeyOf[N]", edge.__dict__[self.name])

    def __set__(self, edge: object, value: N | KeyOf[N]) -> None:
        edge.__dict__[self.name] = node_key(value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """In JSON an end is its node's key text: GOAL-g1. A core schema is a plain dict, so nothing is imported."""
        ends = end_type("end", kinds_of(get_args(source)[0]))

        def read(value: object) -> KeyOf[Any]:
            """A client's text is checked like any id. Stored texts were checked when they were written."""
            key: KeyOf[Any] = ends.from_text(value if isinstance(value, str) else ends.to_text(value))
            checked: KeyOf[Any] = key.kinds[0].by_id(key.partition.partition("-")[2])
            return checked

        def write(key: KeyOf[Any]) -> str:
            return key.partition

        text: dict[str, Any] = {"type": "function-plain", "function": write}
        checked: dict[str, Any] = {"type": "no-info", "function": read}
        return {"type": "function-after", "function": checked, "schema": {"type": "any"}, "serialization": text}


class Ends(Entity, Generic[S, T]):
    """The two ends of an edge, as its class declares them."""

    source: End[S]
    target: End[T]

    __sources__: ClassVar[tuple[type[Node], ...]]
    __targets__: ClassVar[tuple[type[Node], ...]]
    __mirrors__: ClassVar[tuple[str, ...] | None]


F = TypeVar("F", bound=Node)
N_co = TypeVar("N_co", bound=Node, covariant=True)
D = TypeVar("D", bound=Ends[Any, Any])
D_co = TypeVar("D_co", bound=Ends[Any, Any], covariant=True)


class Linked(Generic[F]):
    """Neighbours to read with a page of nodes: by edge type, class, and conditions on mirrored attributes."""

    def __init__(
        self,
        edge: type[Ends[Any, Any]],
        kind: type[F],
        conditions: tuple[Condition, ...] = (),
        within: tuple[Linked[Any], ...] = (),
    ) -> None:
        self.edge, self.kind, self.conditions, self.within = edge, kind, conditions, within

    @cached_property
    def tests(self) -> tuple[Test, ...]:
        """Its conditions, as functions of a member's values."""
        return tuple(test_of(condition, self.edge) for condition in self.conditions)

    def including(self, *linked: Linked[Any]) -> Linked[F]:
        """The neighbours' own neighbours. One more round trip."""
        return Linked(self.edge, self.kind, self.conditions, linked)

    def __repr__(self) -> str:
        return f"{self.edge.__name__}.to({self.kind.__name__})"


class EdgeQuery(Query[D_co], frozen=True):
    """Edges of a node, or through an edge index."""

    def sources(self: EdgeQuery[Ends[S, Any]]) -> NodeQuery[S]:
        """The nodes at the source ends of the edges."""
        return NodeQuery(self, "source")

    def targets(self: EdgeQuery[Ends[Any, T]]) -> NodeQuery[T]:
        """The nodes at the target ends of the edges."""
        return NodeQuery(self, "target")


class NodeQuery(Generic[N_co]):
    """The nodes at one end of edges, with some of their neighbours. `Graph(db).page` returns them as rows.

    Three round trips for a page of up to 100 nodes with their neighbours, one more for each further level.
    """

    def __init__(
        self, edges: EdgeQuery[Any], end: str, linked: tuple[Linked[Any], ...] = (), complete: bool = False
    ) -> None:
        self.edges, self.end, self.linked, self.complete = edges, end, linked, complete

    def including(self, *linked: Linked[Any], complete: bool = False) -> NodeQuery[N_co]:
        """Neighbours of each node, from its edge set. `complete` also reads the edges of overflowed sets."""
        return NodeQuery(self.edges, self.end, linked, complete)

    def newest_first(self) -> NodeQuery[N_co]:
        """In descending order of the edges."""
        return NodeQuery(replace(self.edges, descending=True), self.end, self.linked, self.complete)

    def where(self, condition: Condition) -> NodeQuery[N_co]:
        """Only through edges that meet a condition. A filter."""
        return NodeQuery(cast("EdgeQuery[Any]", self.edges.where(condition)), self.end, self.linked, self.complete)


def edges_from(edge: type[D], source: Any, kind: type[Node] | None = None) -> EdgeQuery[D]:
    """The edges from a node, all of them or those to nodes of one class."""
    model = model_of(edge)
    start = f"{model.type}-" if kind is None else f"{model.type}-{kind.__word__}-"
    partition = model.key.templates[0].write({"source": source})
    return EdgeQuery((edge,), model.key, partition, start, start + TOP, 1)
