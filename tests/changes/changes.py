"""Changes of a declaration, as people make them: each is drawn by a seed, and returns another declaration.

A change of an attribute is made at any depth: in a class, and in an object inside an item.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.changes.declared import (
    KEYED,
    SOURCE,
    ClassFacts,
    Pattern,
    TableFacts,
    drawn_key,
    drawn_pattern,
    drawn_unique,
    names_in,
)
from tests.changes.shapes import AS_TEXT, Attribute, Shape, drawn_attribute, drawn_shape

Change = Callable[[TableFacts, Random], TableFacts]


# --- attributes -------------------------------------------------------------------------------------------------------
def _shape_changed(attribute: Attribute, random: Random) -> Attribute:
    """Another type; for one that a key may hold, one that a key may hold too."""
    if attribute.role == "expires" or attribute.role == "version":
        return attribute
    is_kept = attribute.role == "unique" or attribute.name in ("customer", "number", "place", "role", "since")
    shape = Shape(random.choice(KEYED)) if is_kept else drawn_shape(random)
    is_optional = attribute.is_optional and "set" not in shape.kind and shape.kind != "any"
    return replace(attribute, shape=shape, is_optional=is_optional)


def _shape_nested(attribute: Attribute, random: Random) -> Attribute:
    """A change inside of the type: of an enum's members, of an object's attributes, of what a container holds."""
    return replace(attribute, shape=changed_inside(attribute.shape, random))


def changed_inside(shape: Shape, random: Random) -> Shape:
    """A shape that differs inside."""
    if shape.kind == "enum":
        return _enum_changed(shape, random)
    if shape.kind == "literal":
        return Shape("literal", random.choice([shape.of[:-1] or shape.of, (*shape.of, type(shape.of[0])("9"))]))
    if shape.kind == "object":
        return replace(shape, of=_attributes_changed(shape.of, random, is_whole=False))
    if shape.kind in ("list", "tuple", "dict", "maybe"):
        inner = changed_inside(shape.of[0], random)
        return replace(shape, of=(inner,)) if inner != shape.of[0] else _container_changed(shape, random)
    return shape


def _container_changed(shape: Shape, random: Random) -> Shape:
    inner: Shape = shape.of[0]
    if shape.kind == "maybe":
        return inner
    if inner.kind == "maybe":
        return replace(shape, of=inner.of)
    if inner.kind != "any" and random.randrange(2):
        return replace(shape, of=(Shape("maybe", (inner,)),))
    return replace(shape, kind="tuple" if shape.kind == "list" else "list")


def _enum_changed(shape: Shape, random: Random) -> Shape:
    members, texts = list(shape.of), shape.texts
    choice = random.randrange(7)
    number = random.randrange(len(members))
    name, value = members[number]
    other = type(value)("77")
    if choice == 0:
        members.append(("PAID", other))
        texts = (*texts, "9.PAID") if texts else ()
    elif choice == 1 and len(members) > 1:
        del members[number]
        texts = tuple(text for n, text in enumerate(texts) if n != number)
    elif choice == 2:
        members[number] = (name, other)
    elif choice == 3:
        members[0], members[-1] = (members[0][0], members[-1][1]), (members[-1][0], members[0][1])
    elif choice == 4:
        members[number] = ("RENAMED", value)
    elif choice == 5:
        members.reverse()
        texts = tuple(reversed(texts))
    else:
        texts = () if texts else tuple(f"text{n}" for n in range(len(members)))
    return Shape("enum", tuple(members), texts)


def _optional(attribute: Attribute, random: Random) -> Attribute:
    if "set" in attribute.shape.kind or attribute.shape.kind == "any":
        return attribute
    return replace(attribute, is_optional=not attribute.is_optional)


def _default(attribute: Attribute, random: Random) -> Attribute:
    if attribute.role in ("unique", "version"):
        return attribute
    return replace(attribute, default=random.choice([-1, 0, 1, 2]))


def _stored(attribute: Attribute, random: Random) -> Attribute:
    if attribute.role == "expires":
        return attribute
    return replace(attribute, stored="" if attribute.stored else f"{attribute.name}_")


def _name(attribute: Attribute, random: Random) -> Attribute:
    """Another name in Python, with the stored one kept or not."""
    stored = attribute.stored or attribute.name if random.randrange(2) and attribute.role != "expires" else ""
    return replace(attribute, name=f"{attribute.name}x", stored=stored)


def _personal(attribute: Attribute, random: Random) -> Attribute:
    return replace(attribute, is_personal=not attribute.is_personal)


def _unique(attribute: Attribute, random: Random) -> Attribute:
    if attribute.role == "unique":
        return replace(attribute, role="")
    if attribute.role or (attribute.shape.kind not in KEYED and attribute.shape.kind != "enum"):
        return attribute
    return replace(attribute, role="unique", default=-1)


def _role(attribute: Attribute, random: Random) -> Attribute:
    if attribute.role in ("expires", "version"):
        return replace(attribute, role="", default=0 if attribute.role == "version" else -1)
    if attribute.shape.kind == "datetime" and not attribute.role:
        return replace(attribute, role="expires", stored="", default=-1)
    if attribute.shape.kind == "int" and not attribute.role:
        return replace(attribute, role="version", is_optional=False, default=-1)
    return attribute


AttributeChange = Callable[[Attribute, Random], Attribute]
INSIDE: list[AttributeChange] = [_shape_changed, _shape_nested, _shape_nested, _optional, _default, _stored, _name]
OUTSIDE: list[AttributeChange] = [*INSIDE, _personal, _unique, _role]


def _attributes_changed(
    attributes: tuple[Attribute, ...], random: Random, *, is_whole: bool = True
) -> tuple[Attribute, ...]:
    """Attributes of which one is new, gone or otherwise, or whose order is another."""
    choice = random.randrange(12)
    number = random.randrange(len(attributes)) if attributes else 0
    if choice == 0 or not attributes:
        taken = {name for each in attributes for name in (each.name, each.stored)}
        names = [name for name in ("new", "newer", "newest") if name not in taken]
        return (
            (*attributes, drawn_attribute(random.choice(names), random, 1, is_whole=is_whole)) if names else attributes
        )
    if choice == 1:
        return attributes[:number] + attributes[number + 1 :]
    if choice == 2:
        return tuple(reversed(attributes))
    change = random.choice(OUTSIDE if is_whole else INSIDE)
    one = change(attributes[number], random)
    return (*attributes[:number], one, *attributes[number + 1 :])


# --- classes ----------------------------------------------------------------------------------------------------------
def _one_class(facts: TableFacts, random: Random, change: Callable[[ClassFacts, Random], ClassFacts]) -> TableFacts:
    number = random.randrange(len(facts.classes))
    classes = [change(each, random) if n == number else each for n, each in enumerate(facts.classes)]
    return replace(facts, classes=tuple(classes))


def attributes_changed(facts: TableFacts, random: Random) -> TableFacts:
    """An attribute is added, removed, or is otherwise."""
    return _one_class(facts, random, _class_attributes)


def _class_attributes(facts: ClassFacts, random: Random) -> ClassFacts:
    attributes = _attributes_changed(facts.attributes, random)
    before, after = {each.name for each in facts.attributes}, {each.name for each in attributes}
    names = dict(zip(sorted(before - after), sorted(after - before), strict=False))
    return _with_names(replace(facts, attributes=attributes), names)


def _with_names(facts: ClassFacts, names: dict[str, str]) -> ClassFacts:
    """The patterns with other names of attributes."""

    def renamed(pattern: Pattern) -> Pattern:
        one, other = pattern
        for old, new in names.items():
            for mark in "}:":
                one, other = (text.replace(f"{{{old}{mark}", f"{{{new}{mark}") for text in (one, other))
        return one, other

    mirrors = facts.mirrors if facts.mirrors is None else tuple(names.get(name, name) for name in facts.mirrors)
    patterns = tuple((index, renamed(pattern)) for index, pattern in facts.patterns)
    return replace(facts, key=renamed(facts.key), patterns=patterns, mirrors=mirrors)


def key_changed(facts: TableFacts, random: Random) -> TableFacts:
    """Another key: another width or literal, other attributes; with its former one declared, or not."""
    return _one_class(facts, random, _key)


def _key(facts: ClassFacts, random: Random) -> ClassFacts:
    if facts.type != "line":
        return replace(facts, key=(facts.key[0].replace("source#", "sources#"), facts.key[1]))
    widths = "{number}", "{number:010}", "{number:012}"
    key = facts.key
    if random.randrange(2):
        old, new = random.sample(widths, 2)
        key = (key[0].replace(old, new), key[1].replace(old, new))
    if key == facts.key:
        key = drawn_key(random)
    was = facts.key if random.randrange(2) and set(names_in(key)) == set(names_in(facts.key)) else None
    return replace(facts, key=key, was=was if key != facts.key else None)


def pattern_changed(facts: TableFacts, random: Random) -> TableFacts:
    """A pattern is added, removed, moved to another index, or is otherwise."""
    return _one_class(facts, random, _pattern)


def _pattern(facts: ClassFacts, random: Random) -> ClassFacts:
    if facts.mirrors is not None:
        text = random.choice(["{since}", "{role}", "{role}#{since}", "{since}#{role}"])
        return replace(facts, patterns=((facts.patterns[0][0], ("", text)),))
    if facts.is_node:
        return facts
    patterns = dict(facts.patterns)
    choice = random.randrange(4)
    index = random.choice(["gsi1", "gsi2"])
    if choice == 0:
        patterns.pop(index, None)
    elif choice == 1 and len(patterns) == 1:
        ((former, pattern),) = patterns.items()
        patterns = {"gsi2" if former == "gsi1" else "gsi1": pattern}
    elif choice == 2 and index in patterns:
        partition, sort = patterns[index]
        patterns[index] = (
            partition.replace("by", "to").replace("of", "at"),
            sort.replace("{number:010}", "{number:011}"),
        )
    else:
        patterns[index] = drawn_pattern(facts, random)
    return replace(facts, patterns=tuple(sorted(patterns.items())))


def version_raised(facts: TableFacts, random: Random) -> TableFacts:
    """Another version, whose upcaster keeps all or renames an attribute; stored in the older form too, or not."""
    return _one_class(facts, random, _version)


def _version(facts: ClassFacts, random: Random) -> ClassFacts:
    is_plain = facts.mirrors is None and not facts.is_node
    if facts.version > 1:
        return replace(facts, stored_as=0 if facts.stored_as else 1) if is_plain else facts
    attributes = facts.attributes
    renamed: tuple[tuple[str, str], ...] = ()
    plain = [each for each in attributes if not each.role and each.name not in ("customer", "number", "place", "id")]
    if plain and random.randrange(2):
        one = random.choice(plain)
        renamed = ((one.stored or one.name, "kept"),)
        attributes = tuple(replace(each, stored="kept") if each == one else each for each in attributes)
    stored_as = 1 if random.randrange(3) == 0 and is_plain else 0
    return replace(facts, version=2, stored_as=stored_as, attributes=attributes, renamed=renamed)


def described(facts: TableFacts, random: Random) -> TableFacts:
    """An attribute says what it was before version 2."""
    return _one_class(facts, random, _described)


def _described(facts: ClassFacts, random: Random) -> ClassFacts:
    plain = [a for a in facts.attributes if not a.role and a.name not in ("customer", "number", "place", "id")]
    if facts.version > 1 or facts.was or facts.copies or not plain:
        return facts
    old = random.choice(plain)
    new = random.choice([_restored, _renamed, _revalued, _as_text, _expiring])(old)
    attributes = tuple(new if each == old else each for each in facts.attributes)
    is_plain = facts.mirrors is None and not facts.is_node
    stored_as = 1 if random.randrange(3) == 0 and is_plain else 0
    changed = replace(facts, attributes=attributes, version=2, stored_as=stored_as)
    return _with_names(changed, {old.name: new.name})


def _restored(old: Attribute) -> Attribute:
    """Another stored name."""
    return replace(old, stored="kept", was=old.stored or old.name)


def _renamed(old: Attribute) -> Attribute:
    """Another name in Python, and stored."""
    return replace(old, name=f"{old.name}y", stored="", was=old.stored or old.name)


def _revalued(old: Attribute) -> Attribute:
    """Other values of an enum's members: some of the former ones among them."""
    if old.shape.kind != "enum":
        return _restored(old)
    (first, value), *rest = old.shape.of
    members = ((first, rest[-1][1]), *rest[:-1], (rest[-1][0], type(value)("78"))) if rest else ()
    now = dict(members)
    was = tuple((value, now[name]) for name, value in old.shape.of)
    return replace(old, shape=Shape("enum", members, old.shape.texts), was=was)


def _as_text(old: Attribute) -> Attribute:
    """A number as its text."""
    if old.shape.kind != "int" or (old.default >= 0 and not old.is_optional):
        return _renamed(old)
    return replace(old, shape=Shape("str"), was=AS_TEXT)


def _expiring(old: Attribute) -> Attribute:
    """A time of which the service knows."""
    if old.shape.kind != "datetime" or old.default >= 0:
        return _renamed(old)
    return replace(old, role="expires", stored="", default=-1, was=old.stored or old.name)


def converted(facts: TableFacts, random: Random) -> TableFacts:
    """The items of a class become items of another one."""
    line = next((each for each in facts.classes if each.type == "line"), None)
    if line is None or facts.is_graph or line.copies or line.was or line.stored_as:
        return facts
    key = line.key[0].replace("line", "row"), line.key[1]
    row = replace(line, name="Row", type="row", key=key, version=1, renamed=())
    return replace(facts, classes=(*facts.classes, row), becomes=("line", "row"))


def type_changed(facts: TableFacts, random: Random) -> TableFacts:
    """Another stored type, the same class."""
    return _one_class(facts, random, lambda each, _: each if each.type in ("source", "person") else _other_type(each))


def _other_type(facts: ClassFacts) -> ClassFacts:
    return replace(facts, type=f"{facts.type}s", key=(facts.key[0].replace("line", "row"), facts.key[1]))


def name_changed(facts: TableFacts, random: Random) -> TableFacts:
    """Another name of the class in Python: nothing is stored otherwise."""
    return _one_class(facts, random, lambda each, _: each if each.is_node else replace(each, name=f"{each.name}X"))


def class_changed(facts: TableFacts, random: Random) -> TableFacts:
    """A class is added or removed, or attributes are copies."""
    if facts.is_graph:
        return replace(facts, classes=facts.classes[:1]) if len(facts.classes) > 1 else facts
    types = [each.type for each in facts.classes]
    line = facts.classes[-1] if types[-1] != "source" else facts.classes[0]
    if "source" not in types:
        return replace(facts, classes=(SOURCE, *facts.classes))
    if line.copies:
        return replace(facts, classes=(SOURCE, replace(line, copies=())))
    if random.randrange(2):
        return replace(facts, classes=(SOURCE, replace(line, copies=(("source_title", "title"),))))
    return replace(facts, classes=tuple(each for each in facts.classes if each.type != "source"))


def mirrors_changed(facts: TableFacts, random: Random) -> TableFacts:
    """Other mirrors of an edge."""

    def other(each: ClassFacts, random: Random) -> ClassFacts:
        if each.mirrors is None:
            return each
        choices = [(), ("role",), ("since",), ("role", "since"), ("since", "role")]
        return replace(each, mirrors=random.choice(choices))

    return replace(facts, classes=tuple(other(each, random) for each in facts.classes))


# --- the table --------------------------------------------------------------------------------------------------------
NAMES: dict[str, list[Any]] = {
    "separator": ["#", "/", "-"],
    "type_attribute": ["_type", "kind"],
    "version_attribute": ["_v", "v"],
    "ttl_attribute": [None, "gone"],
    "write_id_attribute": ["_w", "w"],
    "deletion_protection": [None, True],
    "stream": [None, "new"],
}


def table_changed(facts: TableFacts, random: Random) -> TableFacts:
    """An option of the table, or one of its indexes."""
    if random.randrange(3) == 0 and not facts.is_graph:
        return replace(facts, indexes=_indexes(facts, random))
    taken = ("separator", "ttl_attribute", "write_id_attribute") if facts.is_graph else ()
    option = random.choice([name for name in NAMES if name not in taken])
    return replace(facts, names={**facts.names, option: random.choice(NAMES[option])})


def _indexes(facts: TableFacts, random: Random) -> Any:
    used = {index for each in facts.classes for index, _ in each.patterns}
    indexes = dict(facts.indexes)
    unused = [name for name in indexes if name not in used]
    if unused and random.randrange(2):
        del indexes[unused[0]]
    elif "gsi3" not in indexes and random.randrange(2):
        indexes["gsi3"] = "gsi3pk", "gsi3sk"
    elif indexes:
        indexes[random.choice(list(indexes))] = "other_pk", "other_sk"
    return tuple(indexes.items())


def unique_added(facts: TableFacts, random: Random) -> TableFacts:
    """A unique attribute that is new."""

    def other(each: ClassFacts, random: Random) -> ClassFacts:
        if each.mirrors is not None or each.is_node or any(a.name == "code" for a in each.attributes):
            return each
        return replace(each, attributes=(*each.attributes, drawn_unique("code", random)))

    return _one_class(facts, random, other)


def unique_removed(facts: TableFacts, random: Random) -> TableFacts:
    """Attributes that are not unique any more."""

    def other(each: Attribute) -> Attribute:
        return replace(each, role="") if each.role == "unique" else each

    classes = [replace(each, attributes=tuple(map(other, each.attributes))) for each in facts.classes]
    return replace(facts, classes=tuple(classes))


CHANGES: list[Change] = [
    *[attributes_changed] * 8,
    *[key_changed, pattern_changed] * 2,
    *[version_raised, type_changed, name_changed, class_changed, mirrors_changed, table_changed, unique_added],
]


def changed(facts: TableFacts, random: Random, times: int) -> TableFacts:
    """A declaration after so many changes."""
    for _ in range(times):
        facts = random.choice(CHANGES)(facts, random)
    return facts
