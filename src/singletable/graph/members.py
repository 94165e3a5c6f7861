"""Members of an edge set: a node's outgoing edges as texts on the node itself.

    GOALMEMBERSHIP-USER-<id>-LEAD        the edge's target text, then the text of each mirrored attribute

A member is parsed from both ends: edge type and class first, mirrored texts last; the rest between them is the id.

A `MemberSelector` selects the members of a node's edge set for each `including(...)` of a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.foundation import KeyOf, model_for, model_of
from singletable.graph.edges import Edge
from singletable.graph.mirrors import mirrors_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node, stored_key
from singletable.graph.queries import Ends, Linked
from singletable.values import AttributeValue

_SETS = tuple(f"_{name}" for name in EDGE_SETS)
_OVERFLOW = f"_{OVERFLOW}"
_NONE: frozenset[str] = frozenset()


class Meaning(Struct, frozen=True, gc=False):
    """The decoded tail, shared by all members that have it."""

    edge: type[Edge[Any, Any]]
    kind: type[Node]
    """The target's class."""
    values: Mapping[str, Any]
    """The mirrored attributes."""


class Member(Struct, frozen=True, gc=False):
    """The part of an edge that its source's edge set stores."""

    text: str
    """The target's key text."""
    meaning: Meaning

    @property
    def edge(self) -> type[Edge[Any, Any]]:
        """The edge's class."""
        return self.meaning.edge

    @property
    def kind(self) -> type[Node]:
        """The target's class."""
        return self.meaning.kind

    @property
    def values(self) -> Mapping[str, Any]:
        """The mirrored attributes."""
        return self.meaning.values

    @property
    def target(self) -> KeyOf[Any]:
        """The target's key."""
        return stored_key(self.kind, self.text)

    def __repr__(self) -> str:
        """Shows no values, as it appears in logs and errors."""
        return f"<Member {self.edge.__name__} to {self.kind.__name__}>"


Tail = tuple[str, ...]
"""The tail of a member: the word of its target's class, and the text of each mirrored attribute."""


class MemberForm:
    """Formats the edges of one type as members, and parses members."""

    def __init__(self, edge: type[Edge[Any, Any]]) -> None:
        self.edge = edge
        self.word = model_of(edge).type
        self._mirrors = mirrors_of(edge)
        nodes = "|".join(re.escape(kind.__word__) for kind in edge.__targets__)
        behind = "".join(f"-({mirror.regex})" for mirror in self._mirrors.values())
        self._match = re.compile(f"{re.escape(self.word)}-(({nodes})-.*?){behind}", re.DOTALL).fullmatch
        self._kinds = {kind.__word__: kind for kind in edge.__targets__}

    def text(self, edge: Edge[Any, Any]) -> str:
        """The member of an edge."""
        target = model_of(self.edge).key.templates[1].write({"target": edge.target})
        return "-".join([target, *(mirror.write(getattr(edge, name)) for name, mirror in self._mirrors.items())])

    def parts(self, texts: Iterable[str]) -> list[tuple[str, ...]]:
        """The members of this type, each split into the target's text and the tail: (target, *tail)."""
        return [match.groups() for match in map(self._match, texts) if match is not None]

    def meaning(self, tail: Tail) -> Meaning:
        word, *texts = tail
        mirrors = zip(self._mirrors.items(), texts, strict=True)
        return Meaning(self.edge, self._kinds[word], {name: mirror.read(text) for (name, mirror), text in mirrors})

    def read(self, texts: Iterable[str]) -> list[Member]:
        """Parse texts into members; those of other types are left out."""
        return [Member(parts[0], self.meaning(parts[1:])) for parts in self.parts(texts)]


@cache
def form_of(edge: type[Edge[Any, Any]]) -> MemberForm:
    return MemberForm(edge)


def knows_edges(node: Node) -> bool:
    """Whether a node was read with its edge set. A node that the program constructed has none."""
    return all(hasattr(node, name) for name in (*_SETS, _OVERFLOW))


_halves: Callable[[Node], tuple[frozenset[str], frozenset[str]]] = attrgetter(*_SETS)


def texts_of(node: Node) -> frozenset[str]:
    """The stored texts of a node's edge set, both halves."""
    try:
        first, second = _halves(node)
    except AttributeError:
        raise InvalidRequest(
            f"the {type(node).__name__} was not read with its edge set",
            table=model_for(node).table.name,
            hint="Give it as get(), get_many() or a page read it, without only().",
        ) from None
    return first | second


def members_of(node: Node, edges: Iterable[type[Edge[Any, Any]]]) -> Iterator[Member]:
    """A node's edges of some types, from its edge set, in the order of their texts. No request."""
    texts = sorted(texts_of(node))
    for edge in edges:
        yield from form_of(edge).read(texts)


def has_more(node: Node, *edges: type[Ends[Any, Any]]) -> bool:
    """Whether the node has unlisted edges of any of these types."""
    overflow: frozenset[str] = getattr(node, _OVERFLOW, _NONE)
    if overflow:
        return any(edge.__mirrors__ is None or model_of(edge).type in overflow for edge in edges)
    return None in [edge.__mirrors__ for edge in edges]


class MemberSelector:
    """Assigns members to the values that select them. Each tail is decoded and classified once, because a page has
    hundreds of members and few tails."""

    def __init__(self, linked: Sequence[Linked[Any]]) -> None:
        self._linked = linked
        edges = dict.fromkeys(each.edge for each in linked)
        self._forms = [(form_of(edge), dict[Tail, _Selectors]()) for edge in edges]

    def of(self, node: Node) -> dict[Linked[Any], list[Member]]:
        """A node's members by the value that selects them, in the order of their texts."""
        selected: list[list[Member]] = [[] for _ in self._linked]
        texts = sorted(texts_of(node))
        for form, known in self._forms:
            for parts in form.parts(texts):
                meaning, selectors = known.get(parts[1:]) or self._classify(form, known, parts[1:])
                for selector in selectors:
                    selected[selector].append(Member(parts[0], meaning))
        return dict(zip(self._linked, selected, strict=True))

    def _classify(self, form: MemberForm, known: dict[Tail, _Selectors], tail: Tail) -> _Selectors:
        meaning = form.meaning(tail)
        known[tail] = meaning, [i for i, each in enumerate(self._linked) if is_selected(each, meaning)]
        return known[tail]


_Selectors = tuple[Meaning, list[int]]
"""The meaning of a tail, and the indexes of the values that select such members."""


def is_selected(linked: Linked[Any], meaning: Meaning) -> bool:
    is_kind = linked.edge is meaning.edge and linked.kind is meaning.kind
    return is_kind and all(test(meaning.values) for test in linked.tests)


def member_of(edge: Edge[Any, Any]) -> Member:
    """The member that an edge has in its source's edge set, also for an unlisted edge."""
    names = [name for name in model_of(type(edge)).by_name if not name.startswith("_")]
    target: KeyOf[Any] = edge.target
    values = {name: getattr(edge, name) for name in names}
    return Member(target.partition, Meaning(type(edge), target.kinds[0], values))


def without_types(stored: AttributeValue, types: Iterable[str]) -> AttributeValue | None:
    """A stored edge set without the members of removed classes of edges; None for an empty one."""
    begins = tuple(f"{name}-" for name in types)
    left = [member for member in stored.get("SS", ()) if not member.startswith(begins)]
    return {"SS": left} if left else None
