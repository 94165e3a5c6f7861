"""The nodes at the ends of edges: read together, named by what may be shown of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, SingletableError
from singletable.flow import Port
from singletable.foundation import COVERED, Table, entity_at, get_at, model_of, personal_names, place_in, type_in
from singletable.graph.edges import is_edge
from singletable.graph.inspect.edge_sets import AnyEdge, Disagreement, Kept
from singletable.graph.nodes import TOMBSTONE, Node, stored_key
from singletable.operations import RAW, Item
from singletable.shown_values import ShownValue, attributes_of, shown, stored_attributes

State = Literal["there", "missing", "deleting", "unreadable", "hidden"]
"""`hidden`: of a class that the user may not read."""
Reads = Callable[[type[Any] | None], bool]
"""Whether the user may read a class; None for what is of no class that is declared."""


def all_classes(kind: type[Any] | None) -> bool:
    """The right to read everything."""
    return True


class NodeEnd(Struct, frozen=True):
    """A node, as a link and a point of the picture."""

    key: str
    """Its key text, `GOAL-g1`; empty where it may not be shown."""
    kind: str
    """The name of its class; its stored word where this program declares none; `hidden` where it may not be shown."""
    id: str
    label: str
    """The first text that the class declares, or the id."""
    state: State


class EdgeInfo(Struct, frozen=True):
    """One edge."""

    type: str
    direction: Literal["out", "in"]
    other: NodeEnd
    values: tuple[ShownValue, ...]
    kept: Kept


def node_kinds(table: Table) -> tuple[type[Node], ...]:
    """A table's node classes, in the order of their declaration."""
    kinds: tuple[Any, ...] = tuple(model.kind for model in table.models)
    return tuple(kind for kind in kinds if issubclass(kind, Node))


def kind_at(table: Table, key: str, reads: Reads = all_classes) -> type[Node]:
    """The class of the node with a key text. InvalidRequest if the table declares none that may be read."""
    word, dash, id = key.partition("-")
    kinds = [kind for kind in node_kinds(table) if reads(kind)]
    kind = next((each for each in kinds if each.__word__ == word), None)
    if kind is None or not dash or not id:
        words = ", ".join(f"{each.__word__}-<id>" for each in kinds) or "none"
        raise InvalidRequest("this is not the key of a node", table=table.name, hint=f"The table has nodes {words}.")
    return kind


class NodeEnds:
    """The nodes at the ends of edges, read together, and what the user may see of them."""

    def __init__(self, table: Table, personal: bool, reads: Reads) -> None:
        self.table, self.personal, self._reads = table, personal, reads
        self._items: dict[str, Item] = {}
        self._wanted: dict[str, AnyEdge] = {}

    async def read(self, port: Port, node: Item | None, key: str, edges: Iterable[Item]) -> None:
        """Read the nodes that the edges of a node join it with. One round trip."""
        for item in edges:
            edge = entity_at(self.table, item)
            if is_edge(edge) and self._reads(type(edge)):
                for text in (edge.source.partition, edge.target.partition):
                    self._wanted.setdefault(text, type(edge))
        texts = [text for text in self._wanted if text != key and self._reads(kind_at(self.table, text))]
        places = [(text, text) for text in texts]
        found = await get_at(port, self.table, places, RAW, lambda place: _key(self.table, place[0])) if places else []
        self._items = {place_in(self.table, item)[0]: item for item in found}
        if node is not None:
            self._items[key] = node

    def may_see(self, edge: str) -> bool:
        """Whether the user may read the edges of a class, by its name."""
        model = next((model for model in self.table.models if model.kind.__name__ == edge), None)
        return model is not None and self._reads(model.kind)

    def outgoing(self, edges: Iterable[tuple[Item, Kept]]) -> tuple[EdgeInfo, ...]:
        """Edges from the node, and other items of its partition."""
        seen = (self._edge(item, "out", kept) for item, kept in edges)
        return tuple(edge for edge in seen if edge is not None)

    def incoming(self, items: Iterable[Item]) -> tuple[EdgeInfo, ...]:
        """Edges to the node."""
        seen = (self._edge(item, "in", "unknown") for item in items)
        return tuple(edge for edge in seen if edge is not None)

    def _edge(self, item: Item, direction: Literal["out", "in"], kept: Kept) -> EdgeInfo | None:
        """An edge; None for one that the user may not read."""
        edge = entity_at(self.table, item)
        model = self.table.model_of_type(type_in(self.table, item))
        if not self._reads(None if model is None else model.kind):
            return None
        if not is_edge(edge):
            return self._other_item(item, direction)
        other = (edge.target if direction == "out" else edge.source).partition
        end = self.end_of(other, kind_at(self.table, other), self._items.get(other))
        values = attributes_of(edge, personal=self.personal, without=("source", "target"))
        return EdgeInfo(type(edge).__name__, direction, end, values, kept)

    def _other_item(self, item: Item, direction: Literal["out", "in"]) -> EdgeInfo:
        """An item of the partition that is not an edge, or that its class can't read."""
        place, word = place_in(self.table, item), type_in(self.table, item)
        text = place[1] if self.personal or not has_personal(self.table) else COVERED
        end = NodeEnd("", word or "no type", "", text, "unreadable")
        return EdgeInfo(word, direction, end, stored_attributes(item, is_covered=text == COVERED), "unknown")

    def end_of(self, key: str, kind: type[Node], item: Item | None) -> NodeEnd:
        """A node from its item; without an item it is missing."""
        id, name = key.partition("-")[2], kind.__name__
        if not self._reads(kind):
            return NodeEnd("", "hidden", COVERED, COVERED, "hidden")
        if not self.personal and "id" in personal_names(kind):
            return NodeEnd("", name, COVERED, COVERED, "there" if item else "missing")
        if item is None:
            return NodeEnd(key, name, id, id, "missing")
        if TOMBSTONE in item:
            return NodeEnd(key, name, id, id, "deleting")
        node = entity_at(self.table, item)
        if not isinstance(node, kind):
            return NodeEnd(key, name, id, id, "unreadable")
        return NodeEnd(key, name, id, label_of(node, personal=self.personal) or id, "there")

    def attributes(self, item: Item | None) -> tuple[ShownValue, ...]:
        """The node's own attributes; in their stored form if its class can't read them."""
        if item is None:
            return ()
        node = entity_at(self.table, item)
        if not isinstance(node, Node):
            return stored_attributes(item, is_covered=not self.personal and has_personal(self.table))
        return attributes_of(node, personal=self.personal)

    def missing(self) -> Iterator[Disagreement]:
        """The nodes that an edge names and that are not there."""
        for key, edge in self._wanted.items():
            if key not in self._items and self._reads(kind_at(self.table, key)):
                yield Disagreement("a node that this edge joins is not there", edge.__name__, key)

    def told(self, disagreements: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
        """The disagreements that the user may see, without personal keys."""
        return tuple(self._told(each) for each in disagreements if self.may_see(each.type))

    def _told(self, one: Disagreement) -> Disagreement:
        kind = kind_at(self.table, one.other)
        is_open = self._reads(kind) and (self.personal or "id" not in personal_names(kind))
        return one if is_open else replace(one, other="")


def label_of(node: Node, *, personal: bool) -> str:
    """The first text that the node's class declares after the id and that may be shown; empty without one."""
    hidden = frozenset[str]() if personal else personal_names(type(node))
    for name in model_of(type(node)).by_name:
        value = getattr(node, name, None)
        if name != "id" and not name.startswith("_") and name not in hidden and isinstance(value, str) and value:
            return shown(name, value, most=120).text
    return ""


def _key(table: Table, text: str) -> Any:
    return stored_key(kind_at(table, text), text)


def has_personal(table: Table) -> bool:
    return any(personal_names(model.kind) for model in table.models)


def as_node(table: Table, item: Item, *, personal: bool) -> NodeEnd | None:
    """An item as a node; None if it is not of a node class of the table."""
    try:
        key = place_in(table, item)[0]
        return NodeEnds(table, personal, all_classes).end_of(key, kind_at(table, key), item)
    except SingletableError:
        return None
