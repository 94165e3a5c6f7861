"""Declarations of a table as values: drawn by a seed, printed, and made into classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random
from types import new_class
from typing import Any, cast

from singletable import Entity, Table
from singletable.errors import DeclarationError
from singletable.graph import Edge, GraphTable, Node
from singletable.schema import copy_of
from singletable.values import VALUE_TYPES
from tests.changes.shapes import (
    SCALARS,
    Attribute,
    Shape,
    declared_field,
    declared_type,
    drawn_attribute,
    drawn_enum,
)

Pattern = tuple[str, str]
"""The texts of two f-strings, with `#` for the separator of the table."""


@dataclass(frozen=True)
class ClassFacts:
    """A class: what its statement says."""

    name: str
    type: str
    attributes: tuple[Attribute, ...]
    key: Pattern = ("", "")
    was: Pattern | None = None
    patterns: tuple[tuple[str, Pattern], ...] = ()
    version: int = 1
    stored_as: int = 0
    renamed: tuple[tuple[str, str], ...] = ()
    """The stored names before version 2, and after: what its upcaster does."""
    copies: tuple[tuple[str, str], ...] = ()
    """Attributes that repeat one of the class `Source`."""
    mirrors: tuple[str, ...] | None = None
    """The mirrored attributes of an edge; None for an entity or a node."""
    is_node: bool = False

    def attribute(self, name: str) -> Attribute:
        return next(each for each in self.attributes if each.name == name)

    @property
    def former_names(self) -> dict[str, str]:
        """The stored names before version 2, with those after it."""
        own = {each.was: each.stored or each.name for each in self.attributes if isinstance(each.was, str)}
        return {**own, **dict(self.renamed)}


@dataclass(frozen=True)
class TableFacts:
    """A table with its classes."""

    classes: tuple[ClassFacts, ...]
    indexes: tuple[tuple[str, tuple[str, str]], ...] = (("gsi1", ("gsi1pk", "gsi1sk")), ("gsi2", ("gsi2pk", "gsi2sk")))
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    """Options of the table."""
    is_graph: bool = False
    becomes: tuple[str, str] | None = None
    """The types of a class whose items are converted, and of the one that they become."""


def made(facts: TableFacts) -> tuple[Table, dict[str, Any]]:
    """The table, and its classes by their stored types. DeclarationError for what may not be declared."""
    if facts.is_graph:
        table: Table = GraphTable("shop", indexes=[name for name, _ in facts.indexes], **facts.names)
    else:
        table = Table("shop", indexes=dict(facts.indexes), **facts.names)
    kinds: dict[str, Any] = {}
    for each in facts.classes:
        kinds[each.type] = _class(table, each, kinds)
        kinds[each.type].__model__.codec
    if facts.becomes is not None:
        old, new = facts.becomes
        names = [each.name for one in facts.classes if one.type == new for each in one.attributes]
        kinds[old].becomes(kinds[new])(lambda one: kinds[new](**{name: getattr(one, name) for name in names}))
    return table, kinds


def _class(table: Table, facts: ClassFacts, others: dict[str, Any]) -> Any:
    body: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": facts.name,
        "__annotations__": {each.name: declared_type(each) for each in facts.attributes},
        **{each.name: declared_field(each) for each in facts.attributes},
    }
    for name, source in facts.copies:
        if source not in {each.name for each in SOURCE.attributes} & {*vars(others["source"])["__annotations__"]}:
            raise DeclarationError("it repeats an attribute that is gone")
        body[name] = copy_of(getattr(others["source"], source), default="")
        body["__annotations__"][name] = str
    separator = table.separator
    if facts.key[0]:
        key = _function(facts, facts.key, separator)
        body["by_key"] = table.key(was=_function(facts, facts.was, separator))(key) if facts.was else table.key(key)
    for index, pattern in facts.patterns:
        body[f"in_{index}"] = table.index(index)(_function(facts, pattern, separator))
    options: dict[str, Any] = {"table": table, "type": facts.type, "version": facts.version}
    if facts.stored_as:
        options["stored_as"] = facts.stored_as
    base: Any = Entity
    if facts.is_node:
        base = Node
    if facts.mirrors is not None:
        base, options["mirrors"] = cast("Any", Edge)[others["person"], others["person"]], facts.mirrors
    kind: Any = new_class(facts.name, (base,), options, lambda namespace: namespace.update(body))
    if facts.version > 1:
        kind.upcast(1)(_renaming(dict(facts.renamed)))
        kind.downcast(2)(_renaming({new: old for old, new in facts.renamed}))
    return kind


def _renaming(names: dict[str, str]) -> Any:
    return lambda item: {names.get(name, name): value for name, value in item.items()}


def names_in(pattern: Pattern) -> tuple[str, ...]:
    """The attributes in a key, in their order."""
    return tuple(dict.fromkeys(re.findall(r"\{(\w+)", "".join(pattern))))


def _function(facts: ClassFacts, pattern: Pattern, separator: str) -> Any:
    texts = [text.replace("#", separator) for text in pattern]
    text = f"def key({', '.join(names_in(pattern))}):\n    return f{texts[0]!r}, f{texts[1]!r}"
    if not texts[0]:  # of an edge
        text = f"def key({', '.join(names_in(pattern))}) -> str:\n    return f{texts[1]!r}"
    scope: dict[str, Any] = {}
    exec(text, scope)
    return staticmethod(scope["key"])


# --- drawing ----------------------------------------------------------------------------------------------------------
SOURCE = ClassFacts(
    "Source",
    "source",
    (
        Attribute("id", Shape("str")),
        Attribute("title", Shape("str"), default=0),
        Attribute("revision", Shape("int"), role="version"),
    ),
    ("source#{id}", "source"),
)
KEYED = [name for name, kind in SCALARS.items() if VALUE_TYPES[kind].key is not None]


def drawn(random: Random) -> TableFacts:
    """A declaration: of a table, or of a graph one time in six."""
    return drawn_graph(random) if random.randrange(6) == 0 else drawn_table(random)


def drawn_table(random: Random) -> TableFacts:
    identity = (
        Attribute("customer", Shape("str")),
        Attribute("number", Shape("int")),
        Attribute("place", drawn_enum(random) if random.randrange(2) else Shape(random.choice(KEYED))),
    )
    others = tuple(drawn_attribute(name, random) for name in random.sample("abcdefgh", random.randint(2, 5)))
    attributes = (*identity, *others, *_roles(random))
    line = ClassFacts("Line", "line", attributes, drawn_key(random))
    line = replace(line, patterns=tuple((name, drawn_pattern(line, random)) for name in drawn_indexes(random)))
    classes: tuple[ClassFacts, ...] = (line,)
    if random.randrange(3) == 0:
        classes = SOURCE, replace(line, copies=(("source_title", "title"),))
    elif random.randrange(3) == 0:
        classes = line, SOURCE
    names = {
        "separator": random.choice("###/-"),
        **_maybe(random, "type_attribute", "kind"),
        **_maybe(random, "version_attribute", "v"),
        **_maybe(random, "ttl_attribute", "gone"),
        **_maybe(random, "write_id_attribute", "w"),
    }
    return TableFacts(classes, names=names)


def _maybe(random: Random, option: str, value: Any) -> dict[str, Any]:
    return {option: value} if random.randrange(4) == 0 else {}


def _roles(random: Random) -> list[Attribute]:
    made: list[Attribute] = []
    if random.randrange(2):
        made.append(drawn_unique("mail", random))
    if random.randrange(3) == 0:
        made.append(Attribute("ends", Shape("datetime"), is_optional=bool(random.randrange(2)), role="expires"))
    if random.randrange(3) == 0:
        made.append(Attribute("revision", Shape("int"), role="version"))
    return made


def drawn_unique(name: str, random: Random) -> Attribute:
    shape = drawn_enum(random) if random.randrange(2) else Shape(random.choice(KEYED))
    return Attribute(name, shape, role="unique")


def drawn_key(random: Random) -> Pattern:
    number = random.choice(["{number}", "{number:010}", "{number:012}"])
    return random.choice(
        [
            (f"line#{number}#{{customer}}", "{place}"),
            ("line#{customer}", f"{number}#{{place}}"),
            ("lines#{place}#{customer}", number),
            (f"line#{{place}}#{number}", "{customer:rest}"),
            (f"line{number}", "{place}#{customer}"),
            ("line", "{customer}"),
        ]
    )


def drawn_pattern(facts: ClassFacts, random: Random) -> Pattern:
    names = [each.name for each in facts.attributes if _is_keyed(each)]
    one, other = random.choice(names), random.choice(names)
    literal = random.choice(["by", "of"])
    return random.choice(
        [
            (f"{literal}#{{{one}}}", f"{{{other}}}"),
            (f"{literal}", f"{{{one}}}"),
            (f"{literal}#{one}", "{number:010}"),
            (f"{literal}#{one}", f"{{{one}}}#{{number}}"),
        ]
    )


def _is_keyed(attribute: Attribute) -> bool:
    return attribute.shape.kind == "enum" or (attribute.shape.kind in KEYED and attribute.role in ("", "unique"))


def drawn_indexes(random: Random) -> list[str]:
    return random.sample(["gsi1", "gsi2"], random.randrange(3))


def drawn_graph(random: Random) -> TableFacts:
    person = ClassFacts("Person", "person", (drawn_attribute("a", random), drawn_attribute("b", random)), is_node=True)
    mirrored = Attribute("role", drawn_enum(random)), Attribute("since", Shape(random.choice(["str", "date", "int"])))
    attributes = (*mirrored, *(drawn_attribute(name, random) for name in "cde"[: random.randint(1, 3)]))
    mirrors = tuple(random.sample(["role", "since"], random.randrange(3)))
    pattern = "", random.choice(["{since}", "{role}", "{role}#{since}"])
    follow = ClassFacts("Follow", "follow", attributes, patterns=(("gsi1", pattern),), mirrors=mirrors)
    return TableFacts((person, follow), (("gsi1", ("gsi1pk", "gsi1sk")),), is_graph=True)
