"""Differences of two records of a model: the trees are walked, and what differs is judged by its path (`rules`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.migrations.form_changes import attribute_changes, facts_of, said
from singletable.migrations.model_document import EntityForm, ModelDocument
from singletable.migrations.rules import RULES, ModelDifference


class DifferenceSite(Struct, frozen=True):
    """The place of a difference: both documents, the path in their trees, and the facts there, None if missing."""

    old: ModelDocument
    new: ModelDocument
    names: Mapping[str, str]
    """The classes' names by their stored types."""
    path: tuple[str, ...]
    was: Any
    now: Any

    def forms(self) -> tuple[EntityForm, EntityForm]:
        """The forms of the class that the path leads through, in both documents."""
        name = self.path[1]
        return self.old.classes[name], self.new.classes[name]

    def of_class(self, rule: str, what: str = "", index: str = "") -> ModelDifference:
        """A difference of the whole class, or of its patterns in an index."""
        name = self.path[1]
        facts = f"{' '.join(self.path[2:]) or 'the class'}: {said(self.was)}, now {said(self.now)}"
        return ModelDifference(rule, self.names.get(name, name), what or facts, name, index=index)

    def of_table(self, rule: str) -> ModelDifference:
        """A difference of the table."""
        return ModelDifference(rule, "/".join(self.path), f"it was {said(self.was)}, and is {said(self.now)}")

    def of_layer(self, rule: str, what: str) -> ModelDifference:
        """A difference of what a layer stores, with the items that the nearest part above says it is stored in."""
        items, text = self._items()
        texts = (text,) if items[1] else ()
        return ModelDifference(rule, ".".join(self.path[2:]), what, items[0], items[1], texts)

    def _items(self) -> tuple[tuple[str, str], str]:
        """The stored type, and the attribute that holds the name of the part; with that name."""
        place, part = ("", ""), ""
        for document in (self.old, self.new):
            facts: Any = document.layers
            for name in self.path[1:]:
                facts = facts_of(facts).get(name)
                if items := facts_of(facts).get("items"):
                    place, part = (items[0], items[1] if len(items) > 1 else ""), name
        return place, part

    def children(self) -> Iterator[ModelDifference]:
        """The differences of what is below."""
        was, now = facts_of(self.was), facts_of(self.now)
        for name in sorted(was.keys() | now.keys()):
            if was.get(name) != now.get(name):
                below = replace(self, path=(*self.path, name), was=was.get(name), now=now.get(name))
                yield from below.judged()

    def judged(self) -> Iterator[ModelDifference]:
        """The differences here, by the judge of the path."""
        judge = next((judge for pattern, judge in JUDGES if _fits(pattern.split("/"), self.path)), None)
        if judge is not None:
            yield from judge(self)
        elif isinstance(self.was, dict) and isinstance(self.now, dict):
            yield from self.children()
        elif self.path[0] == "classes":
            yield self.of_class("unknown")
        else:
            yield (
                self.of_table("unknown")
                if self.path[0] != "layers"
                else self.of_layer("layer.changed", "it is another")
            )


Judge = Callable[[DifferenceSite], Iterator[ModelDifference]]


def differences(old: ModelDocument, new: ModelDocument, names: Mapping[str, str]) -> list[ModelDifference]:
    """The differences of a declaration, each once, in the order of the paths. `names` has the classes' names by their
    stored types. Facts that an older library's record lacks are not compared."""
    back = {name: form for name, form in old.gone.items() if name not in new.gone}
    was, now = _tree(replace(old, gone=back)), _tree(replace(new, gone={}))
    for unknown in (*(() if old.names else ("names",)), *(("layers",) if old.layers is None else ())):
        was[unknown] = now[unknown] = None
    walked = DifferenceSite(old, new, names, (), was, now).children()
    return list({difference.place: difference for difference in walked}.values())


def _fits(pattern: list[str], path: tuple[str, ...]) -> bool:
    return len(pattern) == len(path) and all(p in ("*", name) for p, name in zip(pattern, path, strict=True))


def _tree(document: ModelDocument) -> dict[str, Any]:
    tree = msgspec.to_builtins(replace(document, purged={}))
    classes = {**tree.pop("gone", {}), **tree.pop("leaving", {}), **tree.pop("entities")}
    return {**tree, "classes": classes}


# --- the table ------------------------------------------------------------------------------------------------------
def _free(site: DifferenceSite) -> Iterator[ModelDifference]:
    yield site.of_table("setting")


def _write_id(site: DifferenceSite) -> Iterator[ModelDifference]:
    """The attribute by which a retry is known. Its old values mean nothing, unless a class reads them as its own."""
    is_read = any(site.was in (form.stored or {}) for form in site.new.entities.values())
    yield site.of_table("unknown" if is_read else "setting")


def _index(site: DifferenceSite) -> Iterator[ModelDifference]:
    rule = "index.added" if site.was is None else "index.removed" if site.now is None else "index.changed"
    name = site.path[1]
    yield ModelDifference(rule, name, f"index {name}: {said(site.was)}, now {said(site.now)}", index=name)
    if rule == "index.changed" and facts_of(site.was)["key"] != facts_of(site.now)["key"]:
        for form in sorted(site.old.entities.keys() & site.new.entities.keys()):
            if name in site.old.entities[form].indexes.keys() & site.new.entities[form].indexes.keys():
                what = f"its keys in {name} are in other attributes"
                yield ModelDifference("pattern.changed", site.names.get(form, form), what, form)


# --- classes --------------------------------------------------------------------------------------------------------
def _class(site: DifferenceSite) -> Iterator[ModelDifference]:
    if site.was is None:
        yield site.of_class("class.added", "the class is new")
    elif site.now is None and (site.was.get("is_system") or site.path[1].startswith("_")):
        yield site.of_class("layer.left out", "its layer is not imported")
    elif site.now is None:
        yield site.of_class("class.removed", "no class has the type any more")
    else:
        yield from site.children()


def _becomes(site: DifferenceSite) -> Iterator[ModelDifference]:
    """A class whose items become items of others, and these."""
    if not site.now:
        yield site.of_class("class.kept", "it is not converted any more")
        return
    old, names = site.path[1], [site.names.get(name, name) for name in site.now]
    yield site.of_class("class.converted", f"it becomes {', '.join(names)}")
    for type_name, name in zip(site.now, names, strict=True):
        what = f"it is made of {site.names.get(old, old)}"
        yield ModelDifference("class.made", name, what, type_name)


def _version(site: DifferenceSite) -> Iterator[ModelDifference]:
    """A version that the old program knows, or not: also of a class whose items are stored in two forms."""
    old, new = site.forms()
    yield site.of_class("version.both" if new.written_version <= old.version else "version.raised")


def _key(site: DifferenceSite) -> Iterator[ModelDifference]:
    old, new = site.forms()
    was, now = " / ".join(old.key), " / ".join(new.key)
    if new.has_key_of(old):
        yield site.of_class("key.declared", "attributes of its key have other names")
    elif new.before is not None and new.before.has_key_of(old):
        yield site.of_class("key.moves", f"the key was {was}, and is {now}")
    else:
        if was == now and old.slots and new.slots:
            was, now = (f"{was} ({', '.join(filter(None, form.slots['key']))})" for form in (old, new) if form.slots)
        yield site.of_class("key.changed", f"the key was {was}, and is {now}")


def _other_table(site: DifferenceSite) -> Iterator[ModelDifference]:
    if site.path[1] in site.new.leaving and site.path[1] in site.old.entities:
        yield site.of_class("class.moves", f"its items move to table {site.now}")
    else:
        yield site.of_class("key.declared", "the table that its items come from")


def _slots(site: DifferenceSite) -> Iterator[ModelDifference]:
    """The forms in keys. A record of an older library doesn't have them."""
    old, new = site.forms()
    if old.slots is None or new.slots is None:
        return
    if not new.has_key_of(old):
        yield from _key(site)
    if old.slots.get("was") != new.slots.get("was"):
        yield site.of_class("key.declared", "the key that its items had before")
    for name in sorted(new.indexes.keys() & old.indexes.keys()):
        if not new.has_index_of(old, name):
            yield site.of_class("pattern.changed", f"its keys in {name} are written otherwise", name)


def _pattern(site: DifferenceSite) -> Iterator[ModelDifference]:
    index = site.path[3]
    if site.was is None:
        yield site.of_class("pattern.changed", f"it is in {index} now", index)
    elif site.now is None and index in site.new.indexes:
        yield site.of_class("pattern.removed", f"it is not in {index} any more", index)
    elif site.now is None:
        return  # reported for the index itself
    else:
        old, new = site.forms()
        if not new.has_index_of(old, index):
            what = f"its keys in {index} were {said(site.was)}, and are {said(site.now)}"
            yield site.of_class("pattern.changed", what, index)


def _outside(site: DifferenceSite) -> Iterator[ModelDifference]:
    was, now = {*(site.was or ())}, {*(site.now or ())}
    sets = [sorted(text for text in texts if text.startswith("edge set of ")) for texts in (was, now)]
    if sets[0] != sets[1] and all(sets):
        yield site.of_class("mirrors.changed", f"{sets[0][0]}, now {sets[1][0]}")
        was, now = was - {*sets[0]}, now - {*sets[1]}
    yield from _new_uniques(site, now - was)
    if added := sorted(now - was):
        yield site.of_class("beside.added", f"new in other items: {', '.join(added)}")
    if gone := sorted(was - now):
        yield site.of_class("beside.removed", f"no longer in other items: {', '.join(gone)}")


def _new_uniques(site: DifferenceSite, added: set[str]) -> Iterator[ModelDifference]:
    """Attributes that are unique now, where the record of an older library has no roles of attributes."""
    old, new = site.forms()
    for stored, facts in (new.stored or {}).items() if old.stored is None else ():
        if f"unique {facts.get('name', stored)}" in added:
            yield from _in_class(site, stored, {**facts, "role": None, "guard": None}, facts)


def _beside(site: DifferenceSite) -> Iterator[ModelDifference]:
    """The forms of parts in other items, which an older library's record lacks. `outside` has the parts."""
    old, new = site.forms()
    if not new.has_beside_of(old):
        yield site.of_class("mirrors.changed", f"{said(site.was)}, now {said(site.now)}")


def _old_types(site: DifferenceSite) -> Iterator[ModelDifference]:
    """Attributes by the texts of their types: all that a record of an older library knows of them."""
    old, new = site.forms()
    if old.stored is None and new.stored is not None:
        before = {_stored_name(name, text): text.partition(" as ")[0] for name, text in old.attributes.items()}
        texts = {_stored_name(name, text): text.partition(" as ")[0] for name, text in new.attributes.items()}
        for stored in sorted(before.keys() | new.stored.keys()):
            facts = new.stored.get(stored)
            was = None if stored not in before else dict(facts or {}, form=before[stored])
            now = None if facts is None else dict(facts, form=texts.get(stored))
            yield from _in_class(site, stored, was, now if was is not None else facts)


def _stored_name(name: str, text: str) -> str:
    return text.partition(" as ")[2] or name


def _attributes(site: DifferenceSite) -> Iterator[ModelDifference]:
    old, new = site.forms()
    if old.stored is not None and new.stored is not None:
        for stored in sorted(old.stored.keys() | new.stored.keys()):
            yield from _in_class(site, stored, old.stored.get(stored), new.stored.get(stored))


def _in_class(site: DifferenceSite, stored: str, was: Any, now: Any) -> Iterator[ModelDifference]:
    type_name = site.path[1]
    subject = f"{site.names.get(type_name, type_name)}.{facts_of(now or was).get('name', stored)}"
    old, new = site.forms()
    for rule, what, texts in attribute_changes(was, now):
        is_upcast = rule == "attribute.removed" and new.version != old.version
        yield ModelDifference("attribute.upcast" if is_upcast else rule, subject, what, type_name, stored, texts)


# --- layers ---------------------------------------------------------------------------------------------------------
def _layer_part(site: DifferenceSite) -> Iterator[ModelDifference]:
    """A document, a task or a consumer. One that this program doesn't import may still be declared."""
    if site.now is None:
        yield site.of_layer("layer.left out", "it is not imported")
    elif site.was is None:
        yield site.of_layer("layer.added", "it is new")
    else:
        yield from site.children()


def _argument(site: DifferenceSite) -> Iterator[ModelDifference]:
    """An argument of a task. An empty set is stored, so that an absent one is as missing as any other argument."""
    facts = facts_of(site.now)
    if site.was is None and "set" in facts_of(facts.get("form")) and not facts.get("optional"):
        yield site.of_layer("layer.changed", f"it is new: {said(site.now)}")
    else:
        yield from _scalar(site)


def _scalar(site: DifferenceSite) -> Iterator[ModelDifference]:
    """A scalar of a document, or an argument: an attribute inside of a layer's items."""
    for rule, what, _ in attribute_changes(site.was, site.now):
        kind = RULES[rule].kind
        own = "layer.added" if rule == "attribute.added" else "layer.changed" if kind == "breaking" else rule
        yield site.of_layer(own, what)


_PARTS = ("properties", "$defs", "moments")


def _mutation(site: DifferenceSite) -> Iterator[ModelDifference]:
    """The arguments of a mutation, by their JSON Schema: new ones that may be left out are ordered."""
    if site.was is None:
        yield site.of_layer("layer.added", "it is new")
        return
    schemas = _comparable(site, "arguments")
    if schemas is None:
        return
    rest: list[dict[str, Any]] = [{**schema, "properties": {}, "$defs": {}, "moments": {}} for schema in schemas]
    old, new = map(_parts_of_schema, schemas)
    is_more = site.now is not None and rest[0] == rest[1] and old.items() <= new.items()
    what = f"it was {said(schemas[0].get('properties'))}, and is {said(schemas[1].get('properties'))}"
    yield site.of_layer("layer.added" if is_more else "layer.changed", what)


def _parts_of_schema(schema: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {(n, name): said(part) for n in _PARTS for name, part in schema.get(n, {}).items()}


def _comparable(site: DifferenceSite, name: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Both schemas of a part; without moments where the record is of a release that wrote none, and None where that is
    the whole difference."""
    was, now = facts_of(facts_of(site.was).get(name)), facts_of(facts_of(site.now).get(name))
    now = {fact: value for fact, value in now.items() if fact != "moments" or fact in was}
    is_same = {**facts_of(site.was), name: was} == {**facts_of(site.now), name: now}
    return None if is_same else (was, now)


def _collection(site: DifferenceSite) -> Iterator[ModelDifference]:
    """A collection of a document: its contents are upcast where its version was raised."""
    if site.was is not None and site.now is not None and site.now["version"] > site.was["version"]:
        yield site.of_layer("contents.raised", f"version {site.was['version']}, now {site.now['version']}")
        return
    if _comparable(site, "content") is not None:
        rule = "layer.added" if site.was is None else "layer.changed"
        yield site.of_layer(rule, f"it was {said(site.was)}, and is {said(site.now)}")


def _each(site: DifferenceSite) -> Iterator[ModelDifference]:
    yield from site.children()


JUDGES: tuple[tuple[str, Judge], ...] = (
    ("table", _free),
    ("settings", _free),
    ("indexes/*", _index),
    ("classes/*", _class),
    ("classes/*/version", _version),
    ("classes/*/stored_as", _version),
    ("classes/*/key", _key),
    ("classes/*/was", _slots),
    ("classes/*/slots", _slots),
    ("classes/*/other_table", _other_table),
    ("classes/*/indexes/*", _pattern),
    ("classes/*/outside", _outside),
    ("classes/*/beside", _beside),
    ("classes/*/attributes", _old_types),
    ("classes/*/stored", _attributes),
    ("classes/*/is_system", _slots),
    ("classes/*/becomes", _becomes),
    ("names/expiry", _free),
    ("names/write id", _write_id),
    ("layers/*", _each),
    ("layers/*/*", _layer_part),
    ("layers/tasks/*/arguments/*", _argument),
    ("layers/documents/*/scalars/*", _scalar),
    ("layers/documents/*/mutations/*", _mutation),
    ("layers/documents/*/collections/*", _collection),
    ("layers/streams/*/handles", _free),
)
"""The judges by path. `*` is any one name; the first that fits judges alone, or goes on to the children."""
