"""The table of a graph: the key is (source, target), and the target is the partition of every index."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ParamSpec, overload

from singletable.errors import DeclarationError
from singletable.flow import Port
from singletable.foundation import Declared, IndexDecorator, Key, LayerBelongings, LayerChecks, Table, model_of, plain
from singletable.graph.belongings import GraphBelongings, edges_around
from singletable.graph.check import graph_checks
from singletable.graph.edges import EdgeIndex, edge_types
from singletable.graph.members import without_types
from singletable.graph.nodes import COUNTER, EDGE_SETS, Node
from singletable.graph.sweep import sweep_graph
from singletable.operations import Item
from singletable.tables import StreamView, TableSettings
from singletable.values import AttributeValue, check_texts

P = ParamSpec("P")


class GraphIndexDecorator(IndexDecorator):
    """`@records.index("gsi0")` on a function that returns one text makes an edge index; with two texts, an index as
    in any table."""

    @overload
    def __call__(self, function: Callable[P, Key]) -> Declared[P]: ...
    @overload
    def __call__(self, function: Callable[P, str]) -> EdgeIndex[P]: ...
    @overload
    def __call__(self, function: Callable[P, Key | str]) -> Declared[P]: ...
    def __call__(self, function: Callable[P, Any]) -> Any:
        is_one_text = inspect.get_annotations(plain(function)).get("return") in (str, "str")
        return (EdgeIndex if is_one_text else Declared)(plain(function), self.name)


class GraphTable(Table):
    """A table of nodes and edges: key (source, target), every index by target, "-" between the parts of keys."""

    def __init__(
        self,
        name: str,
        *,
        indexes: Sequence[str] = (),
        type_attribute: str = "_type",
        version_attribute: str = "_v",
        stream: StreamView | None = None,
        deletion_protection: bool | None = None,
        encryption_key: str | None = None,
        settings: TableSettings = TableSettings(),  # noqa: B008  (frozen)
    ) -> None:
        check_texts(raises=DeclarationError, indexes=indexes)
        super().__init__(
            name,
            indexes={index: ("target", index) for index in indexes},
            key=("source", "target"),
            separator="-",
            type_attribute=type_attribute,
            version_attribute=version_attribute,
            stream=stream,
            deletion_protection=deletion_protection,
            encryption_key=encryption_key,
            settings=settings,
        )

    def index(self, name: str) -> GraphIndexDecorator:
        """The decorator of an edge's key function."""
        return GraphIndexDecorator(super().index(name).name)

    def checks(self) -> LayerChecks:
        """The checks of a graph, in addition to those of its items."""
        return graph_checks(self)

    def belongings(self) -> LayerBelongings:
        """The parts of a graph that belong to the subject of an erasure."""
        return GraphBelongings(self)

    @property
    def derived(self) -> frozenset[str]:
        """The edge sets of nodes."""
        return frozenset(EDGE_SETS)

    def remains(self, item: Item, types: Collection[str]) -> Mapping[str, AttributeValue | None]:
        """A node's edge sets and counters without the edges of types that are not listed in them any more."""
        listed = {model_of(edge).type for edge in edge_types(self) if edge.__mirrors__ is not None}
        types = [name for name in types if name not in listed]
        sets = {name: (item[name], without_types(item[name], types)) for name in EDGE_SETS if name in item}
        changed = {name: left for name, (stored, left) in sets.items() if left != stored}
        return {**changed, **{f"{COUNTER}{t}": None for t in types if f"{COUNTER}{t}" in item}}

    def around(self, entity: Any) -> Sequence[Any]:
        """A node's edges, in both directions."""
        return edges_around(entity) if isinstance(entity, Node) else ()

    async def sweep_layer(self, port: Port, *, orphans: bool) -> int:
        """Complete the deletions of nodes."""
        return await sweep_graph(port, self, orphans=orphans)
