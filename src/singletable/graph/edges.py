"""Edges: typed data between two nodes, found from the source, from the target, and through edge indexes.

class GoalMembership(Edge[Goal, User | Team], table=records, type="GOALMEMBERSHIP", mirrors=("role",)):
    role: Role

    @records.index("gsi0")
    @staticmethod
    def by_rank(role: Role = ANY) -> str:
        return f"{role}"

source  GOAL-g1      target  GOALMEMBERSHIP-USER-u1      gsi0  500-LEAD
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeGuard, TypeVar, cast, get_args

from singletable.errors import DeclarationError, InvalidRequest
from singletable.expressions import Condition
from singletable.foundation import (
    ANY,
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    WRITE_VERBS,
    Bound,
    Captured,
    Declared,
    KeyOf,
    KeyPart,
    Query,
    Slot,
    Special,
    Table,
    Template,
    Verbatim,
    capture_sort,
    model_of,
)
from singletable.graph.member_conditions import check_condition
from singletable.graph.mirrors import mirrors_of
from singletable.graph.nodes import Node, check_roles, check_word, end_type, kind_type, kinds_of, node_key
from singletable.graph.queries import EdgeQuery, End, Ends, Linked, edges_from
from singletable.values import FLAG, INTEGER, Field, Kind, Scalar

P = ParamSpec("P")
F = TypeVar("F", bound=Node)
S = TypeVar("S", bound=Node)
T = TypeVar("T", bound=Node)
D = TypeVar("D", bound="Edge[Any, Any]")
D_co = TypeVar("D_co", bound="Edge[Any, Any]", covariant=True)

REVISION, LISTED = "revision", "listed"

_NO_ROLES = {
    "expires": "unlink() removes an edge with its member; a clock would leave the member.",
    "unique": "An edge is unique by its source, target and type.",
    "version": "An edge has a revision, which relink() and unlink() hold.",
}


class Edge(Ends[S, T], Generic[S, T]):
    """Data between two nodes, whose classes are given as in `Edge[Goal, User | Team]`.

    `mirrors` names attributes that the source's edge set stores with each edge. Neighbours can be selected by them
    without reading edges. `mirrors=None` leaves the type out of the edge set, for a very large fan-out.
    link(), relink() and unlink() write edges and keep the source's edge set in step.
    """

    def __init_subclass__(
        cls,
        *,
        table: Table | None = None,
        type: str | None = None,
        version: int = 1,
        mirrors: tuple[str, ...] | None = (),
    ) -> None:
        if type is not None:
            bases = map(get_args, cast(Any, cls).__orig_bases__)
            ends = next((args for args in bases if len(args) == 2), ())
            if not ends or any(isinstance(end, TypeVar) for end in ends):
                raise DeclarationError(
                    f"{cls.__name__} says which nodes it joins", hint="As in Edge[Goal, User | Team]."
                )
            cls.__sources__, cls.__targets__ = kinds_of(ends[0]), kinds_of(ends[1])
            cls.__mirrors__ = mirrors
        super().__init_subclass__(table=table, type=type, version=version)
        if type is not None:
            for name in ("source", "target"):
                setattr(cls, name, End[Any](name))
            _check_index(cls)
            mirrors_of(cls)

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        check_word(type, table)
        check_roles(cls, _NO_ROLES)
        for kind in (*cls.__sources__, *cls.__targets__):
            if model_of(kind).table is not table:
                raise DeclarationError(f"{cls.__name__} joins nodes of another table", table=table.name)
        source, target = end_type("source", cls.__sources__), end_type("target", cls.__targets__, type)
        _check_declared(cls)
        names = table.definition.key
        why = "Edges are written by link(), relink() and unlink(), which keep edge sets in step."
        return Special(
            types={"source": source, "target": target},
            fields={
                "source": Field("source", names[0], _end_plan(source, ""), is_written=False),
                "target": Field("target", names[1], _end_plan(target, f"{type}-"), is_written=False),
            },
            extra=_system_fields,
            key=_captured(cls, table, type, source, target),
            refuses=dict.fromkeys(WRITE_VERBS, why),
        )

    @classmethod
    def between(cls, source: S | KeyOf[S], target: T | KeyOf[T]) -> KeyOf[Any]:
        """The key of the edge from one node to another."""
        captured = model_of(cls).key
        partition, sort = (t.write({"source": source, "target": target}) for t in captured.templates)
        return KeyOf((cls,), captured, partition, sort, sort, 2)

    @classmethod
    def of(cls: type[D], source: Any, kind: type[Node] | None = None) -> EdgeQuery[D]:
        """A query of the node's outgoing edges, all of them or those to nodes of one class, in the node's partition."""
        return edges_from(cls, source, kind)

    @classmethod
    def __readers__(cls) -> Sequence[Captured]:
        return (_outgoing(cls),)

    @classmethod
    def __beside__(cls) -> Mapping[str, Mapping[str, str]]:
        if cls.__mirrors__ is None:
            return {}
        return {"edge set": {name: mirror.form for name, mirror in mirrors_of(cls).items()}}

    def __whole__(self) -> Iterable[Query[Any]]:
        return self.source, self.target

    @classmethod
    def to(cls, kind: type[F], *conditions: Condition) -> Linked[F]:
        """The neighbours of one class, from the edge set. InvalidRequest for a condition on an unmirrored attribute."""
        if kind not in cls.__targets__:
            named = " or ".join(k.__name__ for k in cls.__targets__)
            raise InvalidRequest(f"{cls.__name__} goes to no {kind.__name__}", hint=f"It goes to {named}.")
        for condition in conditions:
            check_condition(condition, cls)
        return Linked(cls, kind, conditions)


def is_edge(value: object) -> TypeGuard[Edge[Any, Any]]:
    return isinstance(value, Edge)


def _is_edge_type(kind: type[Any]) -> TypeGuard[type[Edge[Any, Any]]]:
    return issubclass(kind, Edge)


class BoundEdge(Bound[P, D_co]):
    """`GoalMembership.by_rank`: call it with the target, then with the values of the index's sort key."""

    result = EdgeQuery

    def __call__(  # type: ignore[override]
        self: BoundEdge[P, Edge[Any, T]], node: T | KeyOf[T], /, *args: P.args, **kwargs: P.kwargs
    ) -> EdgeQuery[D_co]:
        return cast("EdgeQuery[D_co]", self.captured.query(EdgeQuery, (node_key(node), *args), kwargs))


class EdgeIndex(Declared[P]):
    """The result of `@records.index("gsi0")` over a function of one text, in the class body."""

    bound = BoundEdge

    def capture(
        self, types: Mapping[str, Any], separator: str, where: str, shape: object = None
    ) -> tuple[tuple[Template, Template], inspect.Signature]:
        sort = capture_sort(self.function, types, separator, where)
        target: Any = types["target"]
        partition = Template(
            (KeyPart(target.word), KeyPart("", Slot.of("target", target))), separator, False, MAX_PARTITION_BYTES
        )
        own = inspect.signature(self.function)
        first = inspect.Parameter("target", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return (partition, sort), own.replace(parameters=[first, *own.parameters.values()])

    def __get__(self, instance: object, owner: type[D]) -> BoundEdge[P, D]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return cast("BoundEdge[P, D]", owner.__pattern__(self.name))


def edge_types(table: Table) -> tuple[type[Edge[Any, Any]], ...]:
    """A table's edge classes, in the order of their declaration."""
    kinds: tuple[Any, ...] = tuple(m.kind for m in table.models)
    return tuple(kind for kind in kinds if _is_edge_type(kind))


def inverse_of(edge: type[Edge[Any, Any]]) -> Captured:
    """The edge type's index that holds every edge: the inverse direction."""
    model = model_of(edge)
    return next(c for c in model.indexes.values() if not _optional_names(edge, c))


def _optional_names(edge: type[Edge[Any, Any]], captured: Captured) -> list[str]:
    model = model_of(edge)
    return [n for t in captured.templates for n in t.names if model.by_name[n].optional]


def _check_index(edge: type[Edge[Any, Any]]) -> None:
    model = model_of(edge)
    if all(_optional_names(edge, c) for c in model.indexes.values()):
        raise DeclarationError(
            f"{edge.__name__} is in no index that holds every edge, so its edges can't be found from their target",
            table=model.table.name,
            hint="Give it an index whose attributes can't be None.",
        )


def _check_declared(edge: type[Any]) -> None:
    for name in dict.fromkeys(n for base in edge.__mro__ for n in vars(base)):
        declared = inspect.getattr_static(edge, name)
        if isinstance(declared, Declared) and not isinstance(declared, EdgeIndex):
            raise DeclarationError(
                f"{edge.__name__}.{name} returns two texts; the partition of an edge's index is its target",
                hint="Return the sort key alone, and say so: def by_rank(role: Role = ANY) -> str.",
            )


def _end_plan(end: type[Verbatim], prefix: str) -> Scalar:
    def parse(text: Any) -> Any:
        if not text.startswith(prefix):
            raise ValueError("the stored text is not a key of this edge")
        return end.from_text(text[len(prefix) :])

    return Scalar(Kind.REFERENCE, "S", str, parse, lambda value: prefix + end.to_text(value), "", reader=parse)


def _system_fields() -> list[Field]:
    return [
        Field("_revision", REVISION, INTEGER, default=lambda: 0, is_written=False),
        Field("_listed", LISTED, FLAG, default=lambda: True, is_written=False),
    ]


def _outgoing(cls: type[Any]) -> Captured:
    """`of`, as the catalogue lists it: a query of the source's partition."""
    model = model_of(cls)
    kinds = kind_type(cls.__targets__)
    sort = Template(
        (KeyPart(model.type), KeyPart("", Slot.of("kind", kinds))), model.table.separator, True, MAX_SORT_BYTES
    )

    def of(source: Any, kind: Any = ANY) -> tuple[str, str]:
        """The edges from a node, all of them or those to nodes of one class."""
        return f"{source}", f"{model.type}-{kind}"

    return Captured(cls, "of", of, None, (model.key.templates[0], sort), inspect.signature(of))


def _captured(cls: type[Any], table: Table, type: str, source: type[Verbatim], target: type[Verbatim]) -> Captured:
    partition = Template((KeyPart("", Slot.of("source", source)),), table.separator, True, MAX_PARTITION_BYTES)
    sort = Template((KeyPart(type), KeyPart("", Slot.of("target", target))), table.separator, True, MAX_SORT_BYTES)

    def between(source: Any, target: Any) -> tuple[str, str]:
        """The edge from one node to another."""
        return f"{source}", f"{type}-{target}"

    return Captured(cls, "between", between, None, (partition, sort), inspect.signature(between))
