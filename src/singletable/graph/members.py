"""Members of an edge set: a node's outgoing edges as texts on the node itself.

    GOALMEMBERSHIP-USER-<id>-LEAD        the edge's target text, then the text of each mirrored attribute

A member is read from both ends: edge type and class in front, mirrored texts behind, the id is what is between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.graph.edges import Edge
from singletable.graph.mirrors import mirrors_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node
from singletable.records.models import model_for, model_of
from singletable.records.patterns import KeyOf

_SETS = tuple(f"_{name}" for name in EDGE_SETS)
_OVERFLOW = f"_{OVERFLOW}"
_KNOWN = (*_SETS, _OVERFLOW)


class Member(Struct, frozen=True, gc=False):
    """One edge as its source's edge set knows it."""

    edge: type[Edge[Any, Any]]
    target: KeyOf[Any]
    values: Mapping[str, Any]
    """The mirrored attributes."""

    @property
    def kind(self) -> type[Node]:
        kind: type[Node] = self.target.kinds[0]
        return kind


class MemberForm:
    """How the edges of one type are written as members, and read back."""

    def __init__(self, edge: type[Edge[Any, Any]]) -> None:
        self.edge = edge
        self.word = model_of(edge).type
        self._mirrors = mirrors_of(edge)
        nodes = "|".join(re.escape(kind.__word__) for kind in edge.__targets__)
        behind = "".join(f"-({mirror.form})" for mirror in self._mirrors.values())
        self._pattern = re.compile(f"{re.escape(self.word)}-(({nodes})-.*?){behind}", re.DOTALL)
        self._are_few = all(mirror.members for mirror in self._mirrors.values())
        """They are all enums: what they come to is kept, and shared between members."""
        self._kept: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self._targets = {kind.__word__: ((kind,), model_of(kind).key) for kind in edge.__targets__}

    def text(self, edge: Edge[Any, Any]) -> str:
        """The member of an edge."""
        target = model_of(self.edge).key.templates[1].write({"target": edge.target})
        return "-".join([target, *(mirror.write(getattr(edge, name)) for name, mirror in self._mirrors.items())])

    def read(self, texts: Iterable[str]) -> list[Member]:
        """The members that some texts stand for; those of other types are left out. A page has hundreds: they are read
        in whole lists."""
        return [self._member(match.groups()) for match in map(self._pattern.fullmatch, texts) if match is not None]

    def _member(self, parts: tuple[str, ...]) -> Member:
        target = parts[0]
        kinds, key = self._targets[parts[1]]
        return Member(self.edge, KeyOf(kinds, key, target, target, target, 2), self._values_of(parts[2:]))

    def _values_of(self, parts: tuple[str, ...]) -> Mapping[str, Any]:
        found = self._kept.get(parts)
        if found is None:
            mirrors = zip(self._mirrors.items(), parts, strict=True)
            found = {name: mirror.read(part) for (name, mirror), part in mirrors}
            if self._are_few:
                self._kept[parts] = found
        return found


@cache
def form_of(edge: type[Edge[Any, Any]]) -> MemberForm:
    return MemberForm(edge)


def knows_edges(node: Node) -> bool:
    """Whether a node was read with its edge set: one that a program has made itself knows nothing of its edges."""
    return all(hasattr(node, name) for name in _KNOWN)


def texts_of(node: Node) -> frozenset[str]:
    """The members of a node's edge set, both halves, as they are stored."""
    if not knows_edges(node):
        raise InvalidRequest(
            f"the {type(node).__name__} was not read with its edge set",
            table=model_for(node).table.name,
            hint="Give it as get(), get_many() or a page read it, without only().",
        )
    halves: list[frozenset[str]] = [getattr(node, name) for name in _SETS]
    return frozenset[str]().union(*halves)


def members_of(node: Node, edges: Iterable[type[Edge[Any, Any]]]) -> Iterator[Member]:
    """A node's edges of some types, as its edge set has them, in the order of their texts. No request."""
    texts = sorted(texts_of(node))
    for edge in edges:
        yield from form_of(edge).read(texts)


def has_more(node: Node, edge: type[Edge[Any, Any]]) -> bool:
    """Whether the node has edges of a type that its set does not hold."""
    if edge.__mirrors__ is None:
        return True
    overflow: frozenset[str] = getattr(node, _OVERFLOW, frozenset[str]())
    return bool(overflow) and model_of(edge).type in overflow
