"""Tables with each kind of key, through what reads and writes whole tables, and through the studio's pages."""

from __future__ import annotations

import json
import types
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Entity, Table, field, key_of
from singletable.erasure import Erasure, SharedScans
from singletable.exchange import Exports, Imports, TableCopy
from singletable.jobs import Jobs
from singletable.reports import open_live
from singletable.streams import Changes, ChangeWorker
from singletable.tables import B, N, StreamView
from singletable_deploy import Deployment
from singletable_deploy.formats import template_text
from tests.studio.test_items import confirmed
from tests.studio.visitor import visiting
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("its engines are its own: an export, a copy and a worker each need one")
VALUES: dict[type[Any], list[Any]] = {
    str: ["a#1 /?&=é", "b"],
    int: [-5, 9, 12],
    Decimal: [Decimal("-1.5"), Decimal("9.5"), Decimal(10)],
    bytes: [b"\x00\xff\xfe+", b"\xff"],
}
KINDS: dict[str, tuple[type[Any], type[Any] | None]] = {
    "text alone": (str, None),
    "number alone": (int, None),
    "bytes alone": (bytes, None),
    "text and number": (str, int),
    "number and text": (int, str),
    "bytes and decimal": (bytes, Decimal),
    "text and bytes": (str, bytes),
}
kept = Table("kept")
each_kind = pytest.mark.parametrize("kind", KINDS)


def declared(kind: str, stream: StreamView | None = None) -> tuple[Table, list[Any]]:
    """A table with such a key, and an index of it turned around; and entities of it."""
    one, other = KINDS[kind]
    marks: Any = {int: N, Decimal: N, bytes: B, str: str}
    key: Any = marks[one]("a") if other is None else (marks[one]("a"), marks[other]("b"))
    turned: Any = {"turned": ("town", marks[one]("a")) if other is None else (marks[other]("b"), marks[one]("a"))}
    table = Table("kinds", key=key, indexes=turned, foreign=True, own_items=kept, stream=stream)

    def alone(a: Any) -> str:
        """One."""
        return f"{a}"

    def both(a: Any, b: Any = ANY) -> Any:
        """A partition."""
        return f"{a}", f"{b}"

    def in_town(town: str, a: Any = ANY) -> Any:
        """A town's."""
        return f"{town}", f"{a}"

    def turn(b: Any, a: Any = ANY) -> Any:
        """The other way."""
        return f"{b}", f"{a}"

    given: dict[str, Any]
    function: Any
    index: Any
    function, index = (alone, in_town) if other is None else (both, turn)
    given = {"a": one} if other is None else {"a": one, "b": other}
    function.__annotations__ = given
    index.__annotations__ = {"town": str, "a": one} if other is None else given
    names = {
        "__annotations__": {**given, "town": str, "note": str},
        "town": "Bern",
        "note": "",
        "of": table.key(staticmethod(function)),
        "by": table.index("turned")(staticmethod(index)),
    }
    held: Any = types.new_class("Held", (Entity,), {"table": table, "type": "held"}, lambda body: body.update(names))
    if other is None:
        return table, [held(a=value, note="n") for value in VALUES[one]]
    return table, [held(a=a, b=b, note="n") for a in VALUES[one] for b in VALUES[other]]


def text_in(item: Any, name: str) -> str:
    """The text of a key attribute, as the studio shows it."""
    return "".join(part["text"] for cell in item["cells"] if cell["name"] == name for part in cell["parts"])


def sorted_items(items: Any) -> list[Any]:
    return sorted((dict(sorted(item.items())) for item in items), key=str)


@each_kind
@pytest.mark.parametrize("format", ["jsonl", "csv-escaped", "parquet", "arrow"])
def test_it_is_exported_and_imported(kind: str, format: Any, tmp_path: Path) -> None:
    table, held = declared(kind)
    for keys in (True, False):
        with fresh() as source, fresh() as target:
            for db in (source, target):
                db.create_table(table)
                db.create_table(kept)
            for entity in held:
                source.put(entity)
            Exports(source, table).export(tmp_path / str(keys), format=format, keys=keys, personal=True)
            done = Imports(target, table).run(tmp_path / str(keys), bad_rows=tmp_path / "bad.jsonl")
            assert done.written == len(held)
            same = [sorted_items(db.run(all_items(db.port, "kinds"))) for db in (source, target)]
            assert same[0] == same[1]


@each_kind
def test_the_scans_of_its_erasure_are_jobs(kind: str) -> None:
    """Candidates come as keys of such types, and the jobs are in the table beside it."""
    one, other = KINDS[kind]
    marks: Any = {int: N, Decimal: N, bytes: B, str: str}
    key: Any = marks[one]("a") if other is None else (marks[one]("a"), marks[other]("b"))
    table = Table("kinds", key=key, foreign=True, own_items=kept, overlap="guard", type_attribute="kind")
    given = {"a": one} if other is None else {"a": one, "b": other}

    def declare(name: str, attribute: str, kind: Any, value: Any) -> Any:
        def alone(a: Any) -> str:
            return f"{a}"

        def both(a: Any, b: Any = ANY) -> Any:
            return f"{a}", f"{b}"

        function: Any = alone if other is None else both
        function.__annotations__ = given
        body = {
            "__annotations__": {**given, attribute: kind},
            attribute: value,
            "of": table.key(staticmethod(function)),
        }
        return types.new_class(name, (Entity,), {"table": table, "type": name.lower()}, lambda own: own.update(body))

    owner = declare("Owner", "note", str, "")
    held = declare("Mine", "owner", one, field(belongs_to=owner.a))
    first, *others = VALUES[one]
    rest = {} if other is None else {"b": VALUES[other][0]}
    with fresh() as db:
        for place in (table, kept):
            db.create_table(place)
        db.put(owner(a=first, **rest))
        for value in others:
            db.put(held(a=value, owner=first, **rest))
        shared = SharedScans(sections=2, tell=lambda job: Jobs(db, table).run(job.id))
        receipt = Erasure(db, table).apply(owner.of(first), shared=shared)
        assert receipt.deleted == {"Owner": 1, "Mine": len(others)}
        assert db.run(all_items(db.port, "kinds")) == []
        assert {item["_type"]["S"] for item in db.run(all_items(db.port, "kept"))} == {"_apply", "_erasure"}


@each_kind
def test_it_is_copied_and_erased(kind: str) -> None:
    table, held = declared(kind)
    with fresh() as source, fresh() as target:
        for db in (source, target):
            db.create_table(table)
            db.create_table(kept)
        for entity in held:
            source.put(entity)
        assert TableCopy(source, target, table).run(keep_personal=True).written == len(held)
        same = [sorted_items(db.run(all_items(db.port, "kinds"))) for db in (source, target)]
        assert same[0] == same[1]
        Erasure(target, table).apply(key_of(held[0]))
        left: list[Any] = list(target.scan(type(held[0])))
        assert held[0] not in left
        assert {str(entity.a) for entity in held[1:]} & {str(entity.a) for entity in left}
        assert target.check(table) == []


@each_kind
async def test_the_studio_shows_and_deletes_it(kind: str) -> None:
    table, held = declared(kind)
    async with fresh_async() as db:
        await db.create_table(table)
        for entity in held:
            await db.put(entity)
        async with visiting(db, table, write=True) as visitor:
            start = await visitor.json("/partition/kinds.json")
            assert len(start["some"]) == len({entity.a for entity in held})
            listed: list[Any] = []
            shown: list[Any] = []
            for partition in start["some"]:
                for by in ("", "&by=turned"):
                    page = await visitor.json(partition["address"].replace("?", ".json?", 1) + by)
                    shown = [item for group in page["groups"] for item in group["items"]]
                    assert len(shown) == page["count"] == len(held) // len(start["some"])
                    in_order = [key_of(entity).low for entity in held[: len(shown)]]
                    assert [text_in(item, table.definition.key[1]) for item in shown] == in_order
                listed += shown
            for cell in (cell for item in listed for cell in item["cells"] if cell["address"]):
                await visitor.page(cell["address"])
            for item in listed:
                query = item["address"].partition("?")[2]
                page = await visitor.json(f"/item/kinds/edit.json?{query}")
                form = {"seen": page["seen"], "seen_values": page["seen_values"]}
                form["form_token"] = await visitor.token(f"/item/kinds/edit?{query}")
                answer = await confirmed(visitor, f"/item/kinds/delete?{query}", form)
                assert answer.status_code == 303, answer.text
        assert await db.run(all_items(db.port, "kinds")) == []


@each_kind
def test_templates_questions_and_handlers_know_it(kind: str) -> None:
    table, held = declared(kind, "new_and_old")
    one, other = KINDS[kind]
    letters = {str: "S", int: "N", Decimal: "N", bytes: "B"}
    template = json.loads(template_text(Deployment("kinds", tables=[table]), "cloudformation"))
    kinds = {
        definition["AttributeName"]: definition["AttributeType"]
        for resource in template["Resources"].values()
        for definition in resource.get("Properties", {}).get("AttributeDefinitions", ())
    }
    assert kinds == {"a": letters[one], **({"town": "S"} if other is None else {"b": letters[other]})}
    changes, seen = Changes(table), list[Any]()

    def inserted(change: Any) -> None:
        seen.append((change.key, change.new))

    changes.on(type(held[0])).inserted(inserted)
    with fresh() as db:
        db.create_table(table)
        db.create_table(kept)
        worker = ChangeWorker(db, changes)
        worker.drain()
        for entity in held:
            db.put(entity)
        worker.drain()
        assert sorted(map(str, seen)) == sorted(str((key_of(entity), entity)) for entity in held)
        assert {key.partition for key, _ in seen} == {key_of(entity).partition for entity in held}
        with open_live(db, table) as session:
            answer = session.query("select a from held").arrow.to_pydict()
        assert sorted(answer["a"]) == sorted(entity.a for entity in held)
