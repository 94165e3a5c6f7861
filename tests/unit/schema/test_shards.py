"""`{id:shard(8)}` in a key function: what it declares, and what is refused when the class is made."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest

from singletable import ANY, Entity, Key, Table, at_least, field, key_of
from singletable.errors import DeclarationError, InvalidRequest
from singletable.pattern_calls import patterns_of
from singletable.records.flows import explain
from singletable.schema import KeyOf, model_of
from singletable.schema.capture import capture
from singletable.schema.catalogue import catalogue
from singletable.schema.key_relations import named_in_keys
from singletable.schema.personal import COVERED, covered_body
from singletable_mcp.schema import schema_of

app = Table("app", indexes=["gsi1"])


class Line(Entity, table=app, type="line"):
    at: int
    id: str

    @app.key
    @staticmethod
    def of(at: int = ANY, id: str = ANY) -> Key:
        return f"log#{id:shard(16)}", f"{at:06}#{id}"

    @app.index("gsi1")
    @staticmethod
    def by_time(at: int = ANY, id: str = ANY) -> Key:
        return f"lines#{id:shard(4)}", f"{at:06}"


class Note(Entity, table=app, type="note"):
    id: str

    @app.key
    @staticmethod
    def by_id(id: str = ANY) -> Key:
        return f"notes#{id:shard(2)}", f"{id}"


class Mark(Entity, table=app, type="mark"):
    id: str

    @app.key
    @staticmethod
    def by_id(id: str = ANY) -> Key:
        return f"notes#{id:shard(2)}", f"mark#{id}#mark"


def test_a_call_without_the_value_is_of_all_shards() -> None:
    query: Any = Line.of(7)
    assert isinstance(query, KeyOf)
    assert not query.is_one_key
    assert [part.partition for part in query.parts] == [f"log#{number:02}" for number in range(16)]
    assert {(part.low, part.high) for part in query.parts} == {("000007#", "000007#\U0010ffff")}
    newest: Any = Line.by_time().newest_first().only(Line.at)
    assert {(part.descending, part.attributes) for part in newest.parts} == {(True, ("at",))}
    ranged: Any = Note.by_id(at_least("b"))
    assert [(part.partition, part.low) for part in ranged.parts] == [("notes#0", "b"), ("notes#1", "b")]


def test_a_value_is_in_the_shard_of_its_text() -> None:
    line = Line(at=7, id="a#1")
    number = crc32(b"a#1") % 16
    assert key_of(line) == Line.of(7, "a#1")
    assert Line.of(7, "a#1").partition == f"log#{number:02}"
    assert Line.by_time(7, "a#1").partition == f"lines#{number % 4}"
    assert not Line.of(7, "a#1").shards


def test_a_text_of_no_shard_is_of_another_class() -> None:
    partition, _ = Line.of(7).captured.templates
    assert partition.read("log#15") == {}
    assert partition.read("log#16") is None
    assert partition.read("log#7") is None


def test_a_shard_alone_has_no_range() -> None:
    with pytest.raises(InvalidRequest, match="as its shard alone, which takes one value, or all"):
        Line.by_time(id=at_least("a"))


def test_tools_offer_what_a_call_takes() -> None:
    lines, by_time, notes, _ = catalogue(app)
    assert [parameter.may_be_open for parameter in lines.parameters] == [True, True]
    assert lines.requests == "1 request; without id, 16 a page, side by side"
    assert by_time.requests == "1 request a page; without id, 4 a page, side by side"
    assert [parameter.takes_range for parameter in by_time.parameters] == [True, False]
    assert [parameter.takes_range for parameter in notes.parameters] == [True]
    patterns = {pattern.shown: pattern for pattern in patterns_of(app)}
    assert patterns["Line.by_time"].ranges("id") == ()
    assert "starting-with" in patterns["Note.by_id"].ranges("id")
    assert schema_of(patterns["Line.by_time"], {})["properties"]["id"] == {"type": "string"}
    assert schema_of(patterns["Line.of"], {})["required"] == []


def test_what_is_personal_is_covered_in_the_requests_of_all_shards() -> None:
    table = Table("letters", indexes=["gsi1"])

    class Letter(Entity, table=table, type="letter"):
        id: str
        to: str = field(personal=True)

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"letter#{id}", "letter"

        @table.index("gsi1")
        @staticmethod
        def of(to: str, id: str = ANY) -> Key:
            return f"to#{to}#{id:shard(2)}", f"{id}"

    query = Letter.of("ada@example.org")
    bodies = [covered_body(query, request.body) for request in explain(query, now=0.0)]
    assert [body["ExpressionAttributeValues"][":0"] for body in bodies] == [{"S": f"to#{COVERED}#{n}"} for n in (0, 1)]


def test_items_of_one_shard_are_not_related() -> None:
    assert list(named_in_keys(model_of(Mark), model_of(Note))) == []


def by_shard_alone(id: str = ANY) -> Any:
    return f"held#{id:shard(8)}", "held"


def in_sort_key(at: int, id: str) -> Any:
    return f"held#{at}", f"{id:shard(8)}"


def twice(at: int, id: str = ANY) -> Any:
    return f"held#{id:shard(8)}#{at:shard(8)}", f"{at:06}#{id}"


def beside_itself(id: str) -> Any:
    return f"held#{id}#{id:shard(8)}", "held"


def in_lower_case(id: str = ANY) -> Any:
    return f"held#{id:shard(8)}", f"{id:lower}"


def of_rest(at: int = ANY, id: str = ANY) -> Any:
    return f"held#{id:shard(8)}", f"{at:06}"


@pytest.mark.parametrize(
    ("function", "primary", "said"),
    [
        (by_shard_alone, True, "all values of id in one shard would have one key"),
        (of_rest, True, "all values of id in one shard would have one key"),
        (in_sort_key, False, "a shard in the sort key spreads nothing"),
        (twice, False, "a key has one shard"),
        (beside_itself, False, "the partition key has id beside its shard"),
        (in_lower_case, False, "values of id that have one text in the key have several shards"),
    ],
)
def test_a_shard_that_spreads_nothing_is_refused(function: Any, primary: bool, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        capture(function, {"id": str, "at": int}, "#", "Held.of", primary=primary)


def test_a_count_of_writes_is_in_no_index() -> None:
    table = Table("held", indexes=["gsi1"])
    with pytest.raises(DeclarationError, match="its count in a key would be that of the last"):

        class _Held(Entity, table=table, type="held"):
            id: str
            count: int = field(version=True, default=0)

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"held#{id}", "held"

            @table.index("gsi1")
            @staticmethod
            def by_count(count: int = ANY, id: str = ANY) -> Key:
                return f"held#{count:shard(8)}", f"{id}"


def test_a_partition_that_moves_to_shards_has_the_parts_of_both_keys() -> None:
    table = Table("held")

    def of_before(at: int = ANY, id: str = ANY) -> Key:
        return f"log#{id:shard(8)}", f"{at:06}#{id}"

    class Held(Entity, table=table, type="held"):
        at: int
        id: str

        @table.key(was=of_before)
        @staticmethod
        def of(at: int = ANY, id: str = ANY) -> Key:
            return f"log#{id:shard(16)}", f"{at:06}#{id}"

    key = Held.of(7, "a")
    assert model_of(Held).old_key(key).partition == f"log#{crc32(b'a') % 8}"
    parts = Held.of(7).parts
    assert [part.partition for part in parts] == [*(f"log#{n}" for n in range(8)), *(f"log#{n:02}" for n in range(16))]
    assert [part.strong for part in parts] == [False] * 8 + [True] * 16
    assert len(explain(Held.of(), now=0.0)) == 24
    assert "16 shards" in repr(Held.of())
