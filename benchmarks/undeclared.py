"""Ways to keep what a class does not declare, compared in one run: `python -m benchmarks.undeclared`.

Each is timed in short turns, one after the other, and the shortest of each is kept, so that a busy machine slows all
alike. No engine: what is timed is the client's own work, from an answer's bytes to objects, and from an object to a
request's bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final

from msgspec.structs import replace

from singletable import ANY, Entity, Key, Table
from singletable.flow import Response
from singletable.operations import AnswerPage, Query, Selection, encode
from singletable.records.entity_writes import PutWrite, UpsertWrite
from singletable.records.write import UNREAD, Moment
from singletable.schema import model_of
from singletable.values import Codec

_TURNS: Final = 400
_ITEMS: Final = 100
app = Table("app", indexes=["gsi1"])


class Order(Entity, table=app, type="order"):
    customer: str
    number: int
    state: str
    note: str | None = None
    paid: bool = False

    @app.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"order#{number}"

    @app.index("gsi1")
    @staticmethod
    def by_state(state: str, number: int = ANY) -> Key:
        return f"state#{state}", f"{number}"


class LenientReader:
    """The reader without the refusal of unknown names: it loses them."""

    def __init__(self) -> None:
        model = model_of(Order)
        texts = model.stored_key.key_texts(model.by_name)
        self.codec: Codec[Order] = Codec(Order, model.fields, model.constants, keys=texts, beside=None)
        self.wire, self.build, self.load = self.codec.wire, self.codec.build, self.codec.load


def measured(ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest time of each, in seconds."""
    shortest = dict.fromkeys(ways, float("inf"))
    for _ in range(_TURNS):
        for name, way in ways.items():
            began = perf_counter()
            way()
            shortest[name] = min(shortest[name], perf_counter() - began)
    return shortest


def reads() -> dict[str, float]:
    """A page of 100 items, as an answer's bytes."""
    model = model_of(Order)
    items = [model.item(Order(customer="ada", number=n, state="open")) | {"_w": {"S": "x" * 22}} for n in range(_ITEMS)]
    plain = _answer(items)
    newer = _answer([{**item, "priority": {"N": "5"}, "tags": {"SS": ["a", "b"]}} for item in items])
    query: Query[Any] = Query("app", "", Selection(), model)
    lenient = replace(query, reader=LenientReader())
    return measured(
        {
            "page, unknown names skipped, as before": lambda: _read(lenient, plain),
            "page, unknown names refused, none there": lambda: _read(query, plain),
            "page, two in each item, skipped and lost, as before": lambda: _read(lenient, newer),
            "page, two in each item, carried": lambda: _read(query, newer),
        }
    )


def _answer(items: list[dict[str, Any]]) -> Response:
    return Response(200, encode({"Items": items, "Count": len(items), "ScannedCount": len(items)}))


def _read(query: Query[Any], answer: Response) -> list[Any]:
    found: AnswerPage[Any] = query.answer(answer)[0]
    return found.items


def writes() -> tuple[dict[str, float], dict[str, int]]:
    """The request of one put, and its bytes."""
    order = Order(customer="ada", number=1, state="open")
    newer = {**model_of(Order).item(order), "priority": {"N": "5"}, "tags": {"SS": ["a", "b"]}}
    (carrying,) = _read(Query("app", "", Selection(), model_of(Order)), _answer([newer]))
    moment = Moment(1e9, True)
    ways: dict[str, Callable[[], bytes]] = {
        "put, with its condition on type and schema version": lambda: _body(PutWrite(order), moment),
        "put, two undeclared attributes carried": lambda: _body(PutWrite(carrying), moment),
        "put as SET and REMOVE, which is upsert": lambda: _body(UpsertWrite(order), moment),
    }
    return measured(ways), {name: len(way()) for name, way in ways.items()}


def _body(write: PutWrite | UpsertWrite, moment: Moment) -> bytes:
    part: Any = write.main(UNREAD, moment)
    body: bytes = part.action.request().body
    return body


def main() -> None:
    read, (write, sizes) = reads(), writes()
    for times, unit, each in ((read, "an item", _ITEMS), (write, "a request", 1)):
        first = next(iter(times.values()))
        for name, seconds in times.items():
            size = f", {sizes[name]} bytes" if name in sizes else ""
            print(f"| {name} | {seconds / each * 1e6:.2f} us {unit}{size} | {seconds / first:.2f} |")
    print(json.dumps({"turns": _TURNS}))


if __name__ == "__main__":
    main()
