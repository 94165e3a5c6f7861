"""YAML text as nodes that know their lines, bounded in every direction.

Every scalar stays the text it is: the logins 08, no and 1e5 are no numbers and no booleans. An alias is the node that
it names, and counts as if it were written out. A key that stands twice is an error: one of the two would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from examples_shared.errors import Invalid
from examples_shared.textfile import Place, shown

MAX_DEPTH = 200
MAX_NODES = 1_000_000
"""Written out, with those that aliases stand for."""
MAX_ALIASED = 100_000
"""Nodes that aliases stand for."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
_NO_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML allows in no text."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text. `is_plain` where it is not in quotes: then an empty one, `~` and `null` may mean nothing."""

    text: str
    line: int
    is_plain: bool

    @property
    def is_nothing(self) -> bool:
        return not self.text or (self.is_plain and self.text in ("~", "null"))


@dataclass(frozen=True, slots=True)
class Sequence:
    line: int
    items: list[Node] = field(default_factory=list["Node"])


@dataclass(frozen=True, slots=True)
class Table:
    """YAML's mapping."""

    line: int
    entries: dict[str, tuple[Scalar, Node]] = field(default_factory=dict[str, "tuple[Scalar, Node]"])
    """By key: the key with its line, and the value."""

    def line_of(self, name: str) -> int:
        """The line of a key; without it, that of the mapping."""
        return self.entries[name][0].line if name in self.entries else self.line


Node = Scalar | Sequence | Table


def parse(text: str, source: str) -> Node:
    """The one document of a text. Invalid, with `source` and line, for what is none or passes a bound."""
    if found := _NO_TEXT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise Place(source, line).refuses(f"YAML holds no character {found[0]!r}")
    return _Composer(source).document(_events(text, source))


def _events(text: str, source: str) -> Iterator[Any]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line, text.count("\n")) + 1 if mark else 1  # the end of a text counts as a line there
        raise Place(source, line).refuses(f"no YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Invalid(f"{source}: no YAML: {type(error).__name__}") from error


@dataclass
class _Open:
    """A collection that has begun and not ended."""

    node: Sequence | Table
    anchor: str | None
    before: int
    """How many nodes there were, written out, before it."""
    key: Scalar | None = None
    """Of a mapping: the key whose value comes next."""


@dataclass
class _Composer:
    """Makes nodes of events with a stack of its own, so that no depth can end the program."""

    source: str
    stack: list[_Open] = field(default_factory=list[_Open])
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict[str, "tuple[Node, int]"])
    """Finished nodes, and how many each is, written out."""
    nodes: int = 0
    aliased: int = 0
    root: Node | None = None

    def document(self, events: Iterator[Any]) -> Node:
        documents = 0
        for event in events:
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise self._refused(event, "a second document begins; one file holds one")
            self._take(event)
        if self.root is None:
            raise Place(self.source, 1).refuses("there is nothing in this file")
        return self.root

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            scalar = Scalar(str(event.value), _line(event), is_plain=event.implicit[0])
            self._count(event, 1)
            self._finish(event, scalar, event.anchor, 1)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self.stack.pop()
            self._finish(event, ended.node, ended.anchor, self.nodes - ended.before)

    def _begin(self, event: Any) -> None:
        self._check_tag(event)
        if len(self.stack) == MAX_DEPTH:
            raise self._refused(event, f"more than {MAX_DEPTH} deep")
        if self.stack and isinstance(self.stack[-1].node, Table) and self.stack[-1].key is None:
            raise self._refused(event, "a key is a text")
        node = Sequence(_line(event)) if isinstance(event, yaml.SequenceStartEvent) else Table(_line(event))
        self.stack.append(_Open(node, event.anchor, self.nodes))
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        self._count(event, 1)

    def _alias(self, event: Any) -> None:
        found = self.anchors.get(event.anchor)
        if found is None:
            within = any(each.anchor == event.anchor for each in self.stack)
            why = "it would contain itself" if within else "no anchor before it has that name"
            raise self._refused(event, f"the alias {shown(event.anchor)}: {why}")
        node, size = found
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise self._refused(event, f"aliases stand for more than {MAX_ALIASED} nodes")
        self._count(event, size)
        self._finish(event, node, None, size)

    def _count(self, event: Any, size: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            raise self._refused(event, f"more than {MAX_NODES} nodes")

    def _finish(self, event: Any, node: Node, anchor: str | None, size: int) -> None:
        """A node is whole: it goes into what it lies in."""
        if anchor is not None:
            self.anchors[anchor] = node, size
        if not self.stack:
            self.root = node
            return
        into = self.stack[-1]
        if isinstance(into.node, Sequence):
            into.node.items.append(node)
        elif into.key is None:
            into.key = self._key(event, into.node.entries, node)
        else:
            into.node.entries[into.key.text] = into.key, node
            into.key = None

    def _key(self, event: Any, entries: Mapping[str, tuple[Scalar, Node]], node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            raise self._refused(event, "a key is a text")
        if node.is_plain and node.text == "<<":
            raise self._refused(event, "mappings are not merged here (<<): write it out")
        if node.text in entries:
            first = entries[node.text][0].line
            raise self._refused(event, f"the key {shown(node.text)} stands twice; first in line {first}")
        return Scalar(node.text, _line(event), node.is_plain)

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _TAGS:
            raise self._refused(event, f"the tag {shown(event.tag)} is not read here")

    def _refused(self, event: Any, said: str) -> Invalid:
        return Place(self.source, _line(event)).refuses(said)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
