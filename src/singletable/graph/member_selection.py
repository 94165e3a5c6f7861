"""Selects the members of a node's edge set for each `including(...)` of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singletable.foundation import KeyOf, model_of
from singletable.graph.edges import Edge
from singletable.graph.members import Meaning, Member, MemberForm, Tail, form_of, texts_of
from singletable.graph.nodes import Node
from singletable.graph.queries import Linked


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
