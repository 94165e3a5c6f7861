"""Documents and tasks as values: drawn by a seed, changed as people change them, and made into classes.

A `LayerProgram` has a document class with scalars, a collection and a mutation, and a task. `parts` are the places
where values of its declarations are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import new_class
from typing import Any, cast

from singletable import Table
from singletable.documents import Document, Items, Mutation, collection
from singletable.documents.document import Scalars, document_model
from singletable.errors import Newer
from singletable.operations import encode, read_item
from singletable.tasks import Tasks
from tests.changes.changes import INSIDE
from tests.changes.oracle import reading
from tests.changes.shapes import Attribute, Shape, declared_field, declared_type, drawn_attribute, python_type, value_of


@dataclass(frozen=True)
class LayerFacts:
    """The declarations of a document class and of a task. What is JSON has no stored names but those of Python."""

    scalars: tuple[Attribute, ...]
    content: tuple[Attribute, ...]
    """The attributes of the collection's items."""
    mutation: tuple[Attribute, ...]
    task: tuple[Attribute, ...]
    version: int = 1
    """The version of the collection's items."""
    renamed: tuple[str, str] | None = None
    """An attribute of the items before version 2, and after: what the upcaster does."""
    collection: str = "notes"


def drawn_layers(random: Random) -> LayerFacts:
    """Some declarations."""

    def some(names: str) -> tuple[Attribute, ...]:
        return tuple(drawn_attribute(name, random, is_whole=False) for name in names[: random.randint(1, len(names))])

    return LayerFacts(some("abc"), _in_json(some("def")), _in_json(some("gh")), some("jk"))


def _in_json(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(replace(each, stored="", shape=_shape_in_json(each.shape)) for each in attributes)


def _shape_in_json(shape: Shape) -> Shape:
    if shape.kind == "object":
        return replace(shape, of=_in_json(shape.of))
    return replace(shape, of=tuple(_shape_in_json(one) if isinstance(one, Shape) else one for one in shape.of))


# --- changes ----------------------------------------------------------------------------------------------------------
def changed_layers(facts: LayerFacts, random: Random, times: int) -> LayerFacts:
    """The declarations after so many changes."""
    before = facts.content
    for _ in range(times):
        facts = _changed(facts, random, can_raise=facts.content == before)
    return facts


def _changed(facts: LayerFacts, random: Random, *, can_raise: bool) -> LayerFacts:
    choice = random.randrange(12)
    if choice == 1:
        return replace(facts, collection=random.choice(["notes", "cards"]))
    if choice == 2 and can_raise and facts.version == 1:
        old = random.choice(facts.content)
        content = tuple(replace(a, name="kept") if a == old else a for a in facts.content)
        return replace(facts, version=2, renamed=(old.name, "kept"), content=content)
    part = random.choice(["scalars", "content", "mutation", "task"])
    if part == "content" and facts.version == 2:
        return facts  # its upcaster would have to make it
    attributes = _attributes(getattr(facts, part), random)
    others: dict[str, Any] = {part: _in_json(attributes) if part in ("content", "mutation") else attributes}
    return replace(facts, **others)


def _attributes(attributes: tuple[Attribute, ...], random: Random) -> tuple[Attribute, ...]:
    choice, number = random.randrange(8), random.randrange(len(attributes))
    if choice == 0 and all(each.name != "new" for each in attributes):
        return (*attributes, drawn_attribute("new", random, 1, is_whole=False))
    if choice == 1 and len(attributes) > 1:
        return attributes[:number] + attributes[number + 1 :]
    change = random.choice(INSIDE)
    return (*attributes[:number], change(attributes[number], random), *attributes[number + 1 :])


# --- programs ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LayerPart:
    """A place where values are stored: what is written there, and what a program reads of it."""

    values: tuple[Any, ...]
    write: Callable[[Any], Any]
    read: Callable[[Any], Mapping[str, Any]]
    """The readings by their stored names. Newer for what waits for a program that knows more of it."""


class LayerProgram:
    """A program with such declarations."""

    def __init__(self, facts: LayerFacts) -> None:
        self.facts = facts
        self.table = Table("shop", indexes=["gsi1"])
        self.item = python_type(Shape("object", facts.content))
        self.board = self._document()
        self.received: list[Mapping[str, Any]] = []
        """What tasks and mutations were given."""
        self.change = self.board.mutation(name="change")(_function(facts.mutation, self._given, "draft, *, "))
        self.put = self.board.mutation(name="put")(self._put())
        self.tasks = Tasks(self.table, index="gsi1")
        self.work = self.tasks.task(name="work")(_function(facts.task, self._given))
        self.model = document_model(self.board)
        assert self.model.form is not None  # a type without JSON is refused here

    def _document(self) -> Any:
        facts, body = self.facts, dict[str, Any]()
        body |= {"__module__": __name__, "__qualname__": "Board"}
        body["__annotations__"] = {each.name: declared_type(each) for each in facts.scalars}
        body |= {each.name: declared_field(each) for each in facts.scalars}
        body["__annotations__"][facts.collection] = cast("Any", Items)[self.item]
        body[facts.collection] = collection(version=facts.version)
        options: dict[str, Any] = {"table": self.table, "index": "gsi1"}
        kind: Any = new_class("Board", (Document,), options, lambda made: made.update(body))
        if facts.renamed is not None:
            old, new = facts.renamed
            getattr(kind, facts.collection).upcast(1)(
                lambda stored: {new if name == old else name: value for name, value in stored.items()}
            )
        return kind

    def _put(self) -> Any:
        def put(draft: Any, *, item: Any) -> None:
            getattr(draft, self.facts.collection)["1"] = item

        put.__annotations__["item"] = self.item
        return put

    def _given(self, arguments: Mapping[str, Any]) -> None:
        self.received.append({name: value for name, value in arguments.items() if name != "draft"})

    @property
    def parts(self) -> dict[str, LayerPart]:
        """The places, as `differences` names them."""
        facts = self.facts
        return {
            "Board.scalars": LayerPart(
                _objects(facts.scalars, lambda **values: Scalars(**values)), self._write_scalars, self._read_scalars
            ),
            f"Board.collections.{facts.collection}": LayerPart(
                _objects(facts.content, self.item), self._content.codec.encode, self._read_content
            ),
            "Board.mutations.change": LayerPart(
                _objects(facts.mutation, dict), lambda values: self.change(**values), self._read_mutation
            ),
            "work.arguments": LayerPart(
                _objects(facts.task, dict), lambda values: dict(self.work(**values).arguments), self._read_task
            ),
        }

    @property
    def _content(self) -> Any:
        return self.model.collections[self.facts.collection]

    def _write_scalars(self, values: Any) -> Any:
        return read_item(encode(self.model.scalars.dump(values)))

    def _read_scalars(self, stored: Any) -> Mapping[str, Any]:
        found = self.model.scalars.load(stored)
        return {each.stored: reading(getattr(found, each.name)) for each in self.model.scalars.fields}

    def _read_content(self, stored: bytes) -> Mapping[str, Any]:
        found: Mapping[str, Any] = reading(self._content.codec.decode(stored))
        return found

    def _read_mutation(self, stored: Mutation) -> Mapping[str, Any]:
        if unknown := self.change.unknown_in(stored.arguments):
            raise Newer("it waits for a program that knows the argument", attribute=unknown)
        return {name: reading(value) for name, value in self.change.read(stored.arguments).items()}

    def _read_task(self, stored: Mapping[str, Any]) -> Mapping[str, Any]:
        if unknown := self.work.unknown_in(stored):
            raise Newer("it waits for a worker that knows the argument", attribute=unknown)
        self.received.clear()
        self.work.bind(stored)()
        return {name: reading(value) for name, value in self.received.pop().items()}


def _objects(attributes: tuple[Attribute, ...], make: Callable[..., Any]) -> tuple[Any, ...]:
    return tuple(make(**{each.name: value_of(each, number) for each in attributes}) for number in range(3))


def _function(attributes: tuple[Attribute, ...], given: Callable[[Mapping[str, Any]], None], before: str = "") -> Any:
    """A function with a parameter for each attribute, which tells what it was given."""
    scope: dict[str, Any] = {"given": given}
    parameters: list[str] = []
    for each in sorted(attributes, key=lambda each: each.default >= 0 or each.is_optional):
        scope[f"type_{each.name}"] = declared_type(each)
        default = ""
        if each.default >= 0 or each.is_optional:
            scope[f"default_{each.name}"] = None if each.is_optional else value_of(each, each.default)
            default = f" = default_{each.name}"
        parameters.append(f"{each.name}: type_{each.name}{default}")
    exec(f"def function({before}{', '.join(parameters)}):\n    given(locals())", scope)
    return scope["function"]
