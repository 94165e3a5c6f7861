"""Declarations of one class, made of options: each option has values that store, or read, something else.

A `Facts` is a choice of one value for each option. `declared` makes the class, `observed` what it writes and reads:
the items of some objects, the keys of their guards, and what an item without one attribute reads as.
"""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import FunctionType, new_class
from typing import Any, Literal

import msgspec

from singletable import Entity, SingletableError, Table, field
from singletable.operations import encode, read_item
from singletable.schema import guard_key

NOON = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)
Facts = dict[str, Any]


def _enum(values: dict[str, str], texts: dict[str, str] | None = None) -> Any:
    base: Any = Enum
    kind = base("State", values)
    if texts is not None:
        setattr(kind, "key_text", lambda member: texts[member.name])  # noqa: B010 Enum's own attributes are typed
    return kind


@dataclass(frozen=True)
class Kind:
    """A type of an attribute, and a value of it."""

    type: Any
    value: Any


def _object(**attributes: Any) -> Kind:
    pairs = {name: each if isinstance(each, tuple) else (each,) for name, each in attributes.items()}
    kind: Any = make_dataclass("Place", [(name, *pair) for name, pair in pairs.items()], kw_only=True)
    return Kind(kind, kind(street="x"))


def _nested(name: str) -> Any:
    return field(name=name)


DURATIONS = [Kind(timedelta, timedelta(seconds=-90.5)), Kind(Decimal, Decimal("-90.5"))]
"""They have the same texts, and are read as other types."""
OPTIONS: dict[str, list[Any]] = {
    "state": [
        _enum({"OPEN": "open", "SENT": "sent"}),
        _enum({"OPEN": "open", "SENT": "shipped"}),
        _enum({"OPEN": "sent", "SENT": "open"}),
        _enum({"OPEN": "open", "SENT": "sent"}, {"OPEN": "1", "SENT": "2"}),
    ],
    "total": [Kind(int, 3), Kind(Decimal, Decimal("1.5")), Kind(float, 0.5), Kind(str, "3"), Kind(bytes, b"3")],
    "chosen": [Kind(Literal["a", "b"], "a"), Kind(Literal[1, 2], 1)],
    "at": [Kind(datetime, NOON), Kind(date, NOON.date()), Kind(str, "2026"), *DURATIONS],
    "tags": [Kind(set[str], {"a"}), Kind(list[str], ["a"]), Kind(dict[str, str], {"a": "b"}), Kind(set[int], {1})],
    "place": [
        _object(street=str),
        _object(street=(str, _nested("s"))),
        _object(street=str, town=(str, "")),
        _object(street=str, town=(str, "Bern")),
    ],
    "maybe": [Kind(list[str | None], ["a", None]), Kind(Any, ["a"]), Kind(list[str], ["a"])],
    "note": [(str | None, None), (str, ""), (str, "none"), (str,), (str, field(default="", name="n"))],
    "made": [(list[str], field(default_factory=list)), (list[str], field(default_factory=lambda: ["a"])), (list[str],)],
    "mail": [(str,), (str, field(unique=True))],
    "ends": [(datetime, field(expires=True)), (datetime,)],
    "revision": [(int, 0), (int, field(default=0, version=True))],
    "key": [
        "line#{number}",
        "line#{number:03}",
        "line#{number:05}",
        "lines#{number}",
        "line#{customer}#{number}",
        "line{number}",
        "line#{number:raw}",
    ],
    "sort": ["{customer}", "{customer:rest}", "{at}"],
    "gsi1": ["state#{state}", "status#{state}", "state#{number}", "state#{number:03}", None, "state#{customer:lower}"],
    "attributes": [("gsi1pk", "gsi1sk"), ("a", "b")],
    "separator": ["#", "/"],
    "type_attribute": ["_type", "kind"],
    "version_attribute": ["_v", "v"],
    "ttl_attribute": [None, "gone"],
    "type": ["line", "row"],
    "version": [1, 2],
}
"""Values of each option. The first of all are the base."""
BASE: Facts = {name: values[0] for name, values in OPTIONS.items()}


def changed(*changes: tuple[str, int]) -> Facts:
    """The base with other values: each by its option and number."""
    return {**BASE, **{name: OPTIONS[name][number] for name, number in changes}}


def declared(facts: Facts) -> tuple[Table, Any]:
    """The class of these facts, with its table."""
    names = {name: facts[name] for name in ("separator", "type_attribute", "version_attribute", "ttl_attribute")}
    table = Table("lines", indexes={"gsi1": facts["attributes"]}, **names)
    pairs = {name: facts[name] for name in ("note", "made", "mail", "ends", "revision")}
    kinds = {name: facts[name].type for name in ("total", "chosen", "at", "tags", "place", "maybe")}
    body: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {
            "customer": str,
            "number": int,
            "state": facts["state"],
            **kinds,
            **{name: pair[0] for name, pair in pairs.items()},
        },
        **{name: pair[1] for name, pair in pairs.items() if len(pair) == 2},
        "by_key": table.key(staticmethod(_function(facts["key"], facts["sort"], facts["separator"]))),
    }
    if facts["gsi1"]:
        body["listed"] = table.index("gsi1")(staticmethod(_function(facts["gsi1"], "{customer}", facts["separator"])))
    options = {"table": table, "type": facts["type"], "version": facts["version"]}
    return table, new_class("Line", (Entity,), options, lambda namespace: namespace.update(body))


def _function(partition: str, sort: str, separator: str) -> Any:
    """A key function of two templates."""
    partition = partition.replace("#", separator)
    names = [name for name in ("customer", "number", "state", "at") if f"{{{name}" in partition + sort]
    text = f"def key({', '.join(names)}):\n    return f{partition!r}, f{sort!r}"
    scope: dict[str, Any] = {}
    exec(text, scope)
    made: FunctionType = scope["key"]
    return made


def observed(facts: Facts) -> tuple[Any, ...]:
    """What the class writes and reads."""
    table, kind = declared(facts)
    model = kind.__model__
    written: list[Any] = []
    for state in facts["state"]:
        values = {name: facts[name].value for name in ("total", "chosen", "at", "tags", "place", "maybe")}
        entity = kind(customer="a#b%", number=7, state=state, mail="m", ends=NOON, note="x", made=["b"], **values)
        item = read_item(encode(model.item(entity)))
        guards = [guard_key(model, unique.name, getattr(entity, unique.name)).partition for unique in model.uniques]
        written.append((msgspec.json.encode(item, order="sorted"), guards))
        written += [_without(model, item, stored) for stored in sorted(item)]
    return (*written, model.counter is not None, table.name)


def _without(model: Any, item: dict[str, Any], stored: str) -> str:
    try:
        return repr(model.load_anywhere({name: value for name, value in item.items() if name != stored}))
    except SingletableError as error:
        return error.what
