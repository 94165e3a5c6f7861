"""Nodes: entities that edges join. In the table a node is an edge to itself.

class Goal(Node, table=records, type="GOAL"):
    title: str                                   # GOAL-<id> -> GOAL-<id>
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeGuard, TypeVar, cast, get_args

from singletable.errors import DeclarationError, InvalidValue
from singletable.foundation import (
    MAX_PARTITION_BYTES,
    MAX_SORT_BYTES,
    Captured,
    Declared,
    Entity,
    KeyOf,
    KeyPart,
    Slot,
    Special,
    Table,
    Template,
    Verbatim,
    model_of,
)
from singletable.values import METADATA, TEXT, Field, Kind, Scalar, SetPlan

N = TypeVar("N", bound="Node")

EDGE_SETS = ("edges0", "edges1")
"""Two string sets, read as one: an update can't add to and delete from the same set."""
OVERFLOW = "overflow"
"""The types of the node's unlisted edges."""
COUNTER = "n_"
"""Before an edge's type: the number of a node's edges of it."""
TOMBSTONE = "deleting"
"""The time when a node's deletion began, and random digits. Readers treat the node as missing, links refuse it."""
RETAINED = "buried"
"""The node's data is deleted; its tombstone stays until a sweep has proved that no edge leads to it."""

_NEVER = Scalar(Kind.INTEGER, "N", Literal["never"], str, str, "")


class Node(Entity):
    """An entity that edges can join, identified by its `id`, any text.

    create(), update(), upsert() and get() work as for any entity. put() is refused because it would lose the edge set.
    delete() is refused because it would leave edges without their node: use `Graph(db).delete_node`.
    """

    id: str

    __word__: ClassVar[str]

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        check_word(type, table)
        check_roles(cls, {"expires": "delete_node() removes a node with its edges; a clock would leave them."})
        _check_no_index(cls, table)
        cls.__word__ = type
        return Special(
            fields={"id": Field("id", table.definition.key[0], _id_plan(f"{type}-"), is_written=False)},
            extra=_system_fields,
            key=_captured(cls, table, type),
            refuses={
                "put": "update() or upsert() it: put() would lose its edge set.",
                "delete": "Use Graph(db).delete_node(), which removes its edges with it.",
                "write_many": "Use graph.load() for new nodes with their edges, update() for others.",
            },
            prefix=COUNTER,
            tombstone=TOMBSTONE,
            tombstone_hint="delete_node() continues the deletion, sweep_table() finishes it.",
        )

    @classmethod
    def by_id(cls, id: str) -> KeyOf[Self]:
        """The key of one node."""
        return stored_key(cls, model_of(cls).key.templates[0].write({"id": id}))


def stored_key(kind: type[N], text: str) -> KeyOf[N]:
    """The key of a node from its stored text."""
    return KeyOf((kind,), model_of(kind).key, text, text, text, 2)


def node_key(node: Any) -> KeyOf[Any]:
    """The key of a node; a key is returned unchanged."""
    return type(node).by_id(node.id) if isinstance(node, Node) else cast("KeyOf[Any]", node)


def is_key_of(value: object, kind: type[Any]) -> TypeGuard[KeyOf[Any]]:
    """Whether a value is the key of an entity of this kind: a node or an edge."""
    return isinstance(value, KeyOf) and issubclass(value.kinds[0], kind)


def kinds_of(kinds: Any) -> tuple[type[Node], ...]:
    """`User | Team` as (User, Team). DeclarationError for a class that is not a node."""
    members: tuple[Any, ...] = get_args(kinds) or (kinds,)
    for kind in members:
        if not (inspect.isclass(kind) and issubclass(kind, Node)):
            raise DeclarationError(f"{kind!r} is not a node class: an edge joins nodes")
        model_of(kind)
    return members


def end_type(name: str, kinds: Sequence[type[Node]], edge_word: str = "") -> type[Verbatim]:
    """The type of an edge's end as part of a key: the key text of a node of one of the `kinds`."""
    by_word = {kind.__word__: kind for kind in kinds}

    class NodeText(Verbatim):
        word: ClassVar[str] = edge_word

        @classmethod
        def to_text(cls, value: Any) -> str:
            key: Any = node_key(value)
            if not isinstance(key, KeyOf) or key.kinds[0] not in kinds:
                named = " or ".join(k.__name__ for k in kinds)
                raise InvalidValue(f"a {named} or its key is expected, not a {type(value).__name__}", attribute=name)
            return str(key.partition)

        @classmethod
        def from_text(cls, text: str) -> Any:
            word, dash, _ = text.partition("-")
            kind = by_word.get(word) if dash else None
            if kind is None:
                raise ValueError("the stored text is not a key of the declared nodes")
            return stored_key(kind, text)

        @classmethod
        def prefixes(cls) -> tuple[str, ...]:
            return tuple(f"{word}-" for word in by_word)

        @classmethod
        def from_words(cls, text: str) -> KeyOf[Any]:
            """From the command line: `USER-ada`, or `ada` if the end is a user. Raises ValueError, InvalidValue."""
            word, dash, id = text.partition("-")
            kind = by_word.get(word) if dash else None
            if kind is None and len(kinds) == 1:
                kind, id = kinds[0], text
            if kind is None:
                raise ValueError("none of the declared nodes")
            found: KeyOf[Any] = kind.by_id(id)
            return found

        wanted: ClassVar[str] = f"the key of a node, as in {', '.join(f'{word}-<id>' for word in by_word)}"

    NodeText.__name__ = NodeText.__qualname__ = _named(kinds)
    return NodeText


def kind_type(kinds: Sequence[type[Node]]) -> type[Verbatim]:
    """The type of a node's class as part of a key: its word."""
    by_word = {kind.__word__: kind for kind in kinds}

    class NodeKind(Verbatim):
        @classmethod
        def to_text(cls, value: Any) -> str:
            return f"{value.__word__}-"

        @classmethod
        def from_words(cls, text: str) -> type[Node]:
            """From command-line input: `USER`, or the name of the class. Raises ValueError."""
            chosen = by_word.get(text) or next((kind for kind in kinds if kind.__name__ == text), None)
            if chosen is None:
                raise ValueError("none of the declared nodes")
            return chosen

        @classmethod
        def prefixes(cls) -> tuple[str, ...]:
            return tuple(f"{word}-" for word in by_word)

        wanted: ClassVar[str] = f"a class of nodes: {', '.join(by_word)}"

    NodeKind.__name__ = NodeKind.__qualname__ = f"type[{_named(kinds)}]"
    return NodeKind


def _named(kinds: Sequence[type[Node]]) -> str:
    return " | ".join(kind.__name__ for kind in kinds)


def check_word(word: str, table: Table) -> None:
    """A type is a word in keys: it has no separator, and a node and an edge never share one."""
    if table.separator != "-":
        raise DeclarationError(f"{table.name} is not a table of a graph", hint="Declare it as GraphTable(...).")
    if not word or "-" in word or "%" in word or not word.isprintable():
        raise DeclarationError(f"{word!r} is not a type of a graph: a type is one word, without '-'", table=table.name)


def check_roles(cls: type[Any], refused: Mapping[str, str]) -> None:
    """Raises DeclarationError, with the reason, for attributes with a role that this kind of entity doesn't support."""
    for declared in dataclasses.fields(cls):
        role = declared.metadata.get(METADATA, {}).get("role", "")
        if role in refused:
            raise DeclarationError(f"{cls.__name__}.{declared.name} can't be {role}=True", hint=refused[role])


def _check_no_index(cls: type[Any], table: Table) -> None:
    for name in dict.fromkeys(n for base in cls.__mro__ for n in vars(base)):
        declared = inspect.getattr_static(cls, name)
        if isinstance(declared, Declared):
            raise DeclarationError(
                f"{cls.__name__}.{name}: a node is found by its id and through edges",
                table=table.name,
                hint="The indexes of a GraphTable are of its edges: give it an edge to what it is found by.",
            )


def _id_plan(prefix: str) -> Scalar:
    def parse(text: Any) -> str:
        if not text.startswith(prefix):
            raise ValueError("the stored text is not a key of this node")
        return str(text[len(prefix) :])

    return Scalar(Kind.TEXT, "S", str, parse, lambda value: prefix + str(value), "", reader=parse)


def _system_fields() -> list[Field]:
    members = SetPlan(TEXT, frozenset)
    fields = [Field(f"_{name}", name, members, is_written=False) for name in (*EDGE_SETS, OVERFLOW)]
    # A node that is being deleted never passes the fast decoder; the slow path treats it as missing.
    return [*fields, Field(f"_{TOMBSTONE}", TOMBSTONE, _NEVER, optional=True, is_written=False)]


def _captured(cls: type[Node], table: Table, type: str) -> Captured:
    parts = (KeyPart(type), KeyPart("", Slot.of("id", str, "rest")))
    source = Template(parts, table.separator, True, MAX_PARTITION_BYTES)
    target = Template(parts, table.separator, True, MAX_SORT_BYTES)

    def by_id(id: str) -> tuple[str, str]:
        """A node, by its id."""
        return f"{type}-{id}", f"{type}-{id}"

    return Captured(cls, "by_id", by_id, None, (source, target), inspect.signature(by_id))
