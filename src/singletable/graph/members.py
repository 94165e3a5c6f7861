"""Members of an edge set: a node's outgoing edges as texts on the node itself.

    GOALMEMBERSHIP-USER-<id>-LEAD        the edge's target text, then the text of each mirrored attribute

A member is read from both ends: edge type and class in front, mirrored texts behind, the id is what is between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from singletable.errors import InvalidRequest
from singletable.graph.edges import Edge
from singletable.graph.mirrors import mirrors_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node
from singletable.records.models import model_for, model_of
from singletable.records.patterns import KeyOf


@dataclass(frozen=True)
class Member:
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
        self._pattern = re.compile(f"{re.escape(self.word)}-((?:{nodes})-.*?){behind}", re.DOTALL)
        self._ends = model_of(edge).by_name["target"].plan

    def text(self, edge: Edge[Any, Any]) -> str:
        """The member of an edge."""
        target = model_of(self.edge).key.templates[1].write({"target": edge.target})
        return "-".join([target, *(mirror.write(getattr(edge, name)) for name, mirror in self._mirrors.items())])

    def read(self, text: str) -> Member | None:
        """The member that a text stands for; None where it is none of this type."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        target: KeyOf[Any] = self._ends.load({"S": f"{self.word}-{match[1]}"})
        mirrors = zip(self._mirrors.items(), match.groups()[1:], strict=True)
        return Member(self.edge, target, {name: mirror.read(part) for (name, mirror), part in mirrors})


@cache
def form_of(edge: type[Edge[Any, Any]]) -> MemberForm:
    return MemberForm(edge)


def knows_edges(node: Node) -> bool:
    """Whether a node was read with its edge set: one that a program has made itself knows nothing of its edges."""
    return all(hasattr(node, f"_{name}") for name in (*EDGE_SETS, OVERFLOW))


def texts_of(node: Node) -> frozenset[str]:
    """The members of a node's edge set, both halves, as they are stored."""
    if not knows_edges(node):
        raise InvalidRequest(
            f"the {type(node).__name__} was not read with its edge set",
            table=model_for(node).table.name,
            hint="Give it as get(), get_many() or a page read it, without only().",
        )
    found: frozenset[str] = frozenset()
    for name in EDGE_SETS:
        found |= getattr(node, f"_{name}")
    return found


def members_of(node: Node, edges: Iterable[type[Edge[Any, Any]]]) -> Iterator[Member]:
    """A node's edges of some types, as its edge set has them, in the order of their texts. No request."""
    texts = sorted(texts_of(node))
    for edge in edges:
        form = form_of(edge)
        start = f"{form.word}-"
        for text in texts:
            if text.startswith(start) and (member := form.read(text)) is not None:
                yield member


def has_more(node: Node, edge: type[Edge[Any, Any]]) -> bool:
    """Whether the node has edges of a type that its set does not hold."""
    return edge.__mirrors__ is None or model_of(edge).type in getattr(node, f"_{OVERFLOW}", frozenset[str]())
