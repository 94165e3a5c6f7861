"""The doors: every way by which a value of a declared type goes out, and comes in again.

A door is a function of the declared type; it gives a function of a value, which returns the value as it is read.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from singletable import Entity, Table
from singletable.cli import output
from singletable.documents.canonical_json import JsonCodec
from singletable.documents.mutations import Mutator
from singletable.exchange.datasets import datasets_of
from singletable.exchange.masks import Mask, masked
from singletable.expressions import Expressions, attr, encoded, stored_or_absent
from singletable.operations.answers import decoder_of, encode, read_item
from singletable.operations.stream import read_records
from singletable.queues import Queue
from singletable.schema import model_of
from singletable.streams.router import Handler, Router
from singletable.studio.edits import fields_of, parsed
from singletable.tasks import Tasks
from singletable.values import exact_json, json_of, plan_for, value_of_json
from singletable_mcp.attributes import attributes_of

_numbers = msgspec.json.Encoder(decimal_format="number")
Through = Callable[[Any], Any]
"""A value, as it is read after it went through a door. InvalidValue where it is refused."""


@cache
def held_class(declared: Any) -> Any:
    """A class with one attribute of a type."""
    table = Table("held")

    def of(id: str) -> Any:
        """One of them."""
        return f"held#{id}", "held"

    of.__annotations__ = {"id": str}
    names = {"__annotations__": {"id": str, "value": declared}, "of": table.key(staticmethod(of))}
    return types.new_class("Held", (Entity,), {"table": table, "type": "held"}, lambda body: body.update(names))


def item_of(declared: Any, value: Any) -> bytes:
    """The item that holds a value, as a request has it."""
    held = held_class(declared)
    return encode(model_of(held).item(held(id="1", value=value)))


def fast(declared: Any) -> Through:
    model: Any = model_of(held_class(declared))
    decode = decoder_of(model.wire)

    def through(value: Any) -> Any:
        body = item_of(declared, value)
        try:
            return model.build(decode(body)).value
        except (ValueError, LookupError):  # it hands over to the other path
            return model.load(read_item(body)).value

    return through


def slow(declared: Any) -> Through:
    model: Any = model_of(held_class(declared))
    return lambda value: model.load(read_item(item_of(declared, value))).value


def expression(declared: Any) -> Through:
    """The value that an update sets."""
    held = held_class(declared)
    model: Any = model_of(held)

    def through(value: Any) -> Any:
        expressions = Expressions((held,))
        if "REMOVE" in expressions.update([attr(held.value).set(value)]):
            return model.codec.by_name["value"].absent()
        (stored,) = read_item(encode(expressions.values)).values()
        return model.codec.by_name["value"].plan.load(stored)

    return through


def task(declared: Any) -> Through:
    def run(value: Any) -> Any:
        return value

    run.__annotations__ = {"value": declared}
    function = Tasks(Table("tasks", indexes=["gsi1"]), index="gsi1").task(run)

    def through(value: Any) -> Any:
        stored = read_item(encode({"arguments": encoded(plan_for(Any), dict(function(value).arguments))}))
        return function.bind(plan_for(Any).load(stored["arguments"]))()

    return through


def stream(declared: Any) -> Through:
    model = model_of(held_class(declared))
    router = Router(model.table)
    router.add(Handler(model.type, "inserted", print))

    def through(value: Any) -> Any:
        image = msgspec.Raw(item_of(declared, value))
        images: dict[str, Any] = {"Keys": {}, "NewImage": image, "SequenceNumber": "1", "StreamViewType": "NEW_IMAGE"}
        record: dict[str, Any] = {"eventName": "INSERT", "dynamodb": {**images, "ApproximateCreationDateTime": 1}}
        read = next(iter(read_records(msgspec.json.encode([record]))))
        ((_, change),) = router.calls(read, router.events_of(read))
        found: Any = change
        return found.new.value

    return through


def studio(declared: Any) -> Through:
    """The text of a form, read as the studio reads it."""
    held = held_class(declared)
    model = model_of(held)

    def through(value: Any) -> Any:
        entity = held(id="1", value=slow(declared)(value))
        (field,) = (one for one in fields_of(model, entity, covered=False) if one.name == "value")
        return None if field.is_none else parsed(declared, model.codec.by_name["value"].plan, field, field.text)

    return through


def mcp(declared: Any) -> Through:
    """What a tool that reads shows, given back to one that writes."""
    held = held_class(declared)
    attribute = attributes_of(model_of(held))["value"]

    def through(value: Any) -> Any:
        entity = held(id="1", value=slow(declared)(value))
        shown = _numbers.encode(output.plain(entity, personal=True))
        return attribute.value(exact_json(shown)["value"])

    return through


def plain_json(declared: Any) -> Through:
    plan, read = plan_for(declared), slow(declared)
    return lambda value: value_of_json(plan, json_of(plan, stored_or_absent(plan, read(value))))


def export(declared: Any) -> Through:
    """A row of an export, and the item that it gives back."""
    model: Any = model_of(held_class(declared))
    dataset = datasets_of(model.table)[0]

    def through(value: Any) -> Any:
        batch, slow_rows = dataset.decode([msgspec.Raw(item_of(declared, value))])
        rows = (
            dataset.items(batch) if not slow_rows else [dataset.item(dataset.row(read_item(item_of(declared, value))))]
        )
        return model.load(read_item(encode(rows[0]))).value

    return through


def mask(declared: Any) -> Through:
    """A mask of a value is one of the type: the same each time, and stored as such. Its value is not compared."""
    plan = plan_for(declared)

    def through(value: Any) -> Any:
        stored = slow(declared)(value)
        covered = masked(Mask(b"a key of 16 bytes"), plan, stored)
        assert type(covered) is type(stored)
        assert item_of(declared, covered) == item_of(declared, masked(Mask(b"a key of 16 bytes"), plan, stored))
        return stored

    return through


def content(declared: Any) -> Through:
    """A document's items, and the arguments of its mutations."""
    codec: JsonCodec[Any] = JsonCodec(declared, "Held.value")
    return lambda value: codec.decode(codec.encode(value))


def mutation(declared: Any) -> Through:
    mutator = mutator_of(declared)
    return lambda value: mutator.read(mutator(number=1, value=value).arguments)["value"]


@cache
def mutator_of(declared: Any, name: str = "change") -> Mutator[..., Any]:
    """A mutation with an argument of a type."""

    def change(draft: Any, number: int, value: Any) -> None:
        """Change it."""

    change.__annotations__ = {"draft": Any, "number": int, "value": declared}
    return Mutator(change, name, f"Held.{name}", {})


def message(declared: Any) -> Through:
    queue: Queue[Any] = Queue("http://localhost/held", declared)
    return lambda value: queue.body_of(queue.text_of(value))


DOORS: Mapping[str, Callable[[Any], Through]] = {
    "record, fast path": fast,
    "record, slow path": slow,
    "update and condition": expression,
    "task": task,
    "stream": stream,
    "studio": studio,
    "mcp": mcp,
    "person's JSON": plain_json,
    "export": export,
    "mask": mask,
}
"""Doors of stored values: what one takes, all take."""
JSON_DOORS: Mapping[str, Callable[[Any], Through]] = {"content": content, "mutation": mutation, "message": message}
"""Doors of JSON: they take what JSON and msgspec have a form for, and refuse the rest by name."""
