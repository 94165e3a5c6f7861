"""Members of an edge set: a node's outgoing edges as texts on the node itself.

    GOALMEMBERSHIP-USER-<id>-LEAD        the edge's target text, then the text of each mirrored attribute

A member is read from both ends: edge type and class in front, mirrored texts behind, the id is what is between. An
enum is mirrored by its value, any other type by its key text; a type whose text has no fixed end is refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from typing import Any
from uuid import UUID

from singletable.errors import DeclarationError
from singletable.graph.edges import Edge
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node
from singletable.records.capture import key_type
from singletable.records.keytext import Part, Slot, Template
from singletable.records.models import model_of
from singletable.records.patterns import KeyOf

_MIRRORED = (str, date, datetime, UUID)


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
        self.names = edge.__mirrors__ or ()
        hints = model_of(edge).by_name
        for name in self.names:
            if name not in hints or hints[name].optional:
                raise DeclarationError(
                    f"{edge.__name__} mirrors {name!r}, which is no attribute of it that always has a value"
                )
        self._writers = {name: _Mirror(edge, name) for name in self.names}
        nodes = "|".join(kind.__word__ for kind in edge.__targets__)
        behind = "".join(f"-({mirror.form})" for mirror in self._writers.values())
        self._pattern = re.compile(f"{self.word}-((?:{nodes})-.+?){behind}", re.DOTALL)
        self._ends = model_of(edge).by_name["target"].plan

    def text(self, edge: Edge[Any, Any]) -> str:
        """The member of an edge."""
        target = model_of(self.edge).key.templates[1].write({"target": edge.target})
        return "-".join([target, *(mirror.write(getattr(edge, name)) for name, mirror in self._writers.items())])

    def read(self, text: str) -> Member | None:
        """The member that a text stands for; None where it is none of this type."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        target: KeyOf[Any] = self._ends.load({"S": f"{self.word}-{match[1]}"})
        mirrors = zip(self._writers.items(), match.groups()[1:], strict=True)
        return Member(self.edge, target, {name: mirror.read(part) for (name, mirror), part in mirrors})


@cache
def form_of(edge: type[Edge[Any, Any]]) -> MemberForm:
    return MemberForm(edge)


def texts_of(node: Node) -> frozenset[str]:
    """The members of a node's edge set, both halves, as they are stored."""
    found: frozenset[str] = frozenset()
    for name in EDGE_SETS:
        found |= getattr(node, f"_{name}", frozenset())
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


class _Mirror:
    """The text of one mirrored attribute."""

    def __init__(self, edge: type[Edge[Any, Any]], name: str) -> None:
        kind: Any = key_type(model_of(edge).types[name])
        enum = _as_enum(kind)
        if kind not in _MIRRORED and enum is None:
            choices = ", ".join(t.__name__ for t in _MIRRORED)
            raise DeclarationError(f"{edge.__name__}.{name} can't be mirrored", hint=f"Mirror an Enum, {choices}.")
        self.members: dict[str, Any] = {} if enum is None else {str(m.value): m for m in enum}
        if enum is not None:
            if any("-" in word or not word for word in self.members):
                raise DeclarationError(f"{edge.__name__}.{name}: a mirrored enum's values hold no '-'")
            self.form = "|".join(re.escape(word) for word in self.members)
            return
        slot = Slot(name, kind)
        # Two parts, so that a str has its '-' written %2D and ends where its part ends.
        self._template = Template((Part("", slot), Part("")), "-")
        self.form = slot.form("-")
        self._name = name

    def write(self, value: Any) -> str:
        if self.members:
            return str(value.value)
        return self._template.write({self._name: value})[:-1]

    def read(self, text: str) -> Any:
        if self.members:
            return self.members[text]
        values = self._template.read(f"{text}-")
        if values is None:
            raise ValueError("the stored member has another form than its class declares")
        return values[self._name]


def _as_enum(kind: Any) -> type[Enum] | None:
    return kind if inspect.isclass(kind) and issubclass(kind, Enum) else None
