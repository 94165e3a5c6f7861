"""Rows are their items: whatever is stored, the row gives it back, and the fast and the slow way give the same row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from singletable import Entity, Key, Table, field
from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange import Dataset, DirectoryStore, Exports, Imports, datasets_of
from singletable.exchange.datasets import REST
from singletable.exchange.declaration_digests import is_digest
from singletable.exchange.exported_folder import ExportedFolder
from singletable.foundation import is_same_item, model_of
from singletable.operations import read_item
from singletable.operations.answers import encode
from tests.exchange.models import Line, Order, order, shop
from tests.support.engines import fresh

ORDERS = next(dataset for dataset in datasets_of(shop) if dataset.entity == "Order")
WITH_KEYS = ORDERS.with_keys()


def stored(number: int) -> dict[str, Any]:
    """An order's item, as the service has it."""
    return read_item(encode(model_of(Order).item(order(number))))


def rows_of(dataset: Dataset, items: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The rows of items as an export makes them, and how many of them took the slow way."""
    batch, slow = dataset.decode([msgspec.Raw(encode(item)) for item in items])
    rest = dataset.batch_of_rows([dataset.row(read_item(raw)) for raw in slow])
    return [*batch.to_pylist(), *rest.to_pylist()], len(slow)


def slow_rows(dataset: Dataset, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return dataset.batch([dict(item) for item in items]).to_pylist()


def test_what_this_program_writes_takes_the_fast_way() -> None:
    items = [stored(n) for n in range(300)]
    for dataset in (ORDERS, WITH_KEYS):
        rows, slow = rows_of(dataset, items)
        assert slow == 0
        assert rows == slow_rows(dataset, items)
        assert all(is_same_item(dataset.item(row), stored(row["number"])) for row in rows)


VALUES: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from(
    [
        {"NULL": True},
        {"S": ""},
        {"S": "x"},
        {"S": "2026-11-20T09:30:00Z"},
        {"S": "2026-11-20 09:30:00.000000Z"},
        {"S": "2026-11-20T09:30:00.000000Z"},
        {"S": "2026-13-20T09:30:00.000000Z"},
        {"S": "20260101"},
        {"S": "AAAAAAAA-0000-0000-0000-000000000000"},
        {"S": "00000000-0000-0000-0000-000000000001"},
        {"N": "1"},
        {"N": "1.5"},
        {"N": "9223372036854775808"},
        {"N": "0.1234567890123456789"},
        {"N": "12345678901234567890123"},
        {"N": "1E+30"},
        {"N": "1" + "0" * 30},
        {"N": "0.1000000000000000055511151231257827"},
        {"BOOL": True},
        {"B": "AAECAw=="},
        {"SS": ["b", "a"]},
        {"NS": ["1", "99999999999999999999"]},
        {"BS": ["AA=="]},
        {"L": []},
        {"L": [{"SS": ["x"]}, {"N": "1.10"}]},
        {"M": {}},
        {"M": {"k": {"N": "1"}}},
        {"M": {"k": {"B": "AA=="}}},
        {"M": {"article": {"S": "a"}, "count": {"N": "1"}, "price": {"N": "2"}}},
        {"M": {"article": {"S": "a"}, "count": {"N": "1"}, "price": {"N": "2"}, "more": {"S": "x"}}},
        None,
    ]
)
NAMES = st.sampled_from([*sorted(stored(7)), "more", "_w"])


FAR = [*("1" + "0" * n for n in (19, 20, 30, 37)), "9" * 20 + ".5", "-" + "9" * 38, "1E+30", "-1e30"]


@pytest.mark.parametrize("text", FAR)
def test_a_number_beyond_its_column_is_no_other_number(text: str) -> None:
    """Arrow's own cast of a text gives one, for some of them."""
    item = {**stored(1), "total": {"N": text}}
    (row,), _ = rows_of(ORDERS, [item])
    assert [row] == slow_rows(ORDERS, [item])
    assert row["total"] in (None, Decimal(text))
    assert is_same_item(ORDERS.item(row), item)


@given(st.dictionaries(NAMES, VALUES, max_size=3), st.integers(0, 50))
def test_a_row_is_its_item_whatever_is_stored(changes: dict[str, Any], number: int) -> None:
    changed = {**stored(number), **changes}
    item = {name: value for name, value in changed.items() if value is not None}
    item |= {"pk": stored(number)["pk"], "sk": stored(number)["sk"], "_type": {"S": "order"}}
    for dataset in (ORDERS, WITH_KEYS):
        try:
            (wanted,) = slow_rows(dataset, [item])
        except Corrupt:
            return  # of a schema version that this program doesn't know: it is for `_unknown`
        (row,), _ = rows_of(dataset, [item])
        assert row == wanted
        assert is_same_item(dataset.item(row), item)


def test_an_absent_attribute_that_reads_as_another_value_goes_the_slow_way() -> None:
    item = {name: value for name, value in stored(1).items() if name != "retries"}
    rows, slow = rows_of(ORDERS, [item])
    assert slow == 1
    assert rows == slow_rows(ORDERS, [item])


sets = Table("sets")


class Sets(Entity, table=sets, type="sets"):
    """Sets whose elements have no fast way, but the last."""

    id: str
    days: frozenset[date] = frozenset()
    blobs: set[bytes] = field(default_factory=set[bytes])
    prices: set[Decimal] = field(default_factory=set[Decimal])
    texts: set[str] = field(default_factory=set[str])

    @sets.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"sets#{id}", "sets"


def test_an_absent_set_is_an_empty_list_on_both_ways() -> None:
    (dataset,) = [each for each in datasets_of(sets) if each.entity == "Sets"]
    items = [
        read_item(encode(model_of(Sets).item(Sets(id=id, blobs=blobs)))) for id, blobs in (("1", set()), ("2", {b"x"}))
    ]
    rows, slow = rows_of(dataset, items)
    assert (slow, rows) == (0, slow_rows(dataset, items))
    assert [[row["days"], row["blobs"], row["prices"], row["texts"]] for row in rows] == [
        [[], [], [], []],
        [[], [b"x"], [], []],
    ]


def test_what_columns_do_not_give_back_is_in_rest() -> None:
    item = {**stored(1), "more": {"S": "x"}, "total": {"N": "0.1234567890123456789"}}
    (row,) = slow_rows(ORDERS, [item])
    assert row["total"] is None
    rest = msgspec.json.decode(row[REST])
    assert rest == {"more": {"S": "x"}, "total": {"N": "0.1234567890123456789"}}


def test_a_nested_value_with_all_its_parts_is_in_its_column() -> None:
    whole = replace(order(1), first=Line("a", 1, Decimal("0.10"), "note", frozenset({"x"})))
    item = read_item(encode(model_of(Order).item(whole)))
    (row,), slow = rows_of(ORDERS, [item])
    assert (slow, [row]) == (0, slow_rows(ORDERS, [item]))
    assert (row["first"]["note"], row["first"]["tags"], row[REST]) == ("note", ["x"], None)


def test_types() -> None:
    types = {f.name: str(f.type) for f in ORDERS.schema}
    assert types == {
        "customer": "string",
        "number": "int64",
        "state": "dictionary<values=string, indices=int32, ordered=0>",
        "rank": "int64",
        "total": "decimal128(38, 18)",
        "weight": "double",
        "paid": "bool",
        "placed_at": "timestamp[us, tz=UTC]",
        "day": "date32[day]",
        "token": "string",
        "picture": "binary",
        "channel": "dictionary<values=string, indices=int32, ordered=0>",
        "tags": "list<item: string>",
        "sizes": "list<item: int64>",
        "lines": f"list<item: {types['first']}>",
        "counts": "map<string, int64>",
        "first": "struct<article: string, count: int64, price: decimal128(38, 18), note: string, "
        "tags: list<item: string>>",
        "anything": "string",
        "remark": "string",
        "due": "timestamp[us, tz=UTC]",
        "retries": "int64",
        "_rest": "string",
    }
    assert ORDERS.schema.field("number").metadata == {b"description": b"Counted by customer."}
    assert ORDERS.description == "What a customer has ordered."


@pytest.mark.parametrize(
    ("name", "expected"),
    [("OrganisationMember", "organisation_member"), ("HTTPCall", "http_call"), ("Project.Listing", "project_listing")],
)
def test_names(name: str, expected: str) -> None:
    table = Table("names")

    class Made(Entity, table=table, type="made"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            """One."""
            return f"made#{id}", "made"

    Made.__qualname__ = name
    assert datasets_of(table)[0].name == expected


def test_two_tables_with_a_class_of_one_name() -> None:
    names = [dataset.name for dataset in datasets_of(shop, shop)]
    assert len(names) == len(set(names))
    assert names[:2] == ["order", "customer"]
    assert "exchange_shop_order" in names


def test_an_empty_batch_has_the_columns() -> None:
    assert ORDERS.batch([]).schema == ORDERS.schema
    assert pa.Table.from_batches([ORDERS.batch([])]).num_rows == 0


def declared(form: str, *, foreign: bool = False) -> Table:
    """A table with one class, whose key has a number in a form."""
    table = Table("numbers", foreign=foreign)

    class Number(Entity, table=table, type="number"):
        n: int

        @table.key
        @staticmethod
        def of(n: int) -> Key:
            return f"n#{n:{form}}", "n"

    return table


def test_the_digest_of_a_class_changes_with_all_that_decides_its_bytes() -> None:
    tables = [declared(form, foreign=foreign) for form in ("", "raw", "06") for foreign in (False, True)]
    digests = [datasets_of(table)[0].digest for table in tables]
    assert len({*digests}) == len(digests)
    assert datasets_of(declared(""))[0].digest == digests[0]
    (plain, _), *others = (digest.split("-") for digest in digests)
    assert all(first == plain for first, _ in others)  # what the manifests of earlier versions have
    assert is_digest(plain, digests[0])
    assert is_digest(digests[0], digests[0])
    assert not is_digest(digests[2], digests[0])
    assert not is_digest("", digests[0])


def test_an_export_of_another_form_of_keys_is_not_put_as_it_is(tmp_path: Path) -> None:
    before, after = declared(""), declared("raw")
    with fresh() as source, fresh() as target:
        source.create_table(before)
        source.create(before.models[0].kind(n=42))
        Exports(source, before).export(tmp_path, keys=True)
        done = Imports(target, after).run(tmp_path)
        assert (done.written, done.bad) == (1, 0)
        assert target.check(after) == []
        with pytest.raises(InvalidRequest, match="declared otherwise now"):
            ExportedFolder(after, DirectoryStore(tmp_path))
