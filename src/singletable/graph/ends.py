"""The ends of an edge: keys of nodes. Queries need this part of an edge, without its writes and its own keys."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, cast, get_args

from singletable.expressions import Handle
from singletable.foundation import Entity, KeyOf
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
