"""Rows as entities: the fast way gives what the slow way gives, and says what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from singletable.exchange import Dataset, datasets_of
from singletable.exchange.cells import cell_of, cell_of_text
from singletable.exchange.datasets import REST
from singletable.foundation import model_of
from singletable.operations import encode, read_item
from singletable.values import Codec
from tests.exchange.models import Order, order, shop

ORDERS = next(dataset for dataset in datasets_of(shop) if dataset.entity == "Order")


def stored(number: int) -> dict[str, Any]:
    return dict(read_item(encode(model_of(Order).item(order(number)))))


def slowly(dataset: Dataset) -> Dataset:
    """The same dataset, by its class's slow path alone."""
    slow = replace(dataset)
    vars(slow).update(_by_attributes=None, _under_any_key=None)
    return slow


def outcome(dataset: Dataset, row: Mapping[str, Any]) -> Any:
    """The entity of a row with what is stored for it, or the error that says why there is none."""
    try:
        entity = dataset.entity_of(row)
    except Exception as error:
        return type(error), str(error)
    return entity, None if entity is None else read_item(encode(dataset.model.item(entity)))


def test_the_row_of_what_this_program_writes_is_read_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [ORDERS.row(stored(number)) for number in range(20)]
    entities = [outcome(slowly(ORDERS), row) for row in rows]
    monkeypatch.setattr(Codec, "load", None)
    assert [outcome(ORDERS, row) for row in rows] == entities
    assert [entity for entity, _ in entities] == [order(number) for number in range(20)]


VALUES: list[Any] = [
    {"NULL": True},
    {"S": "x"},
    {"N": "1.5"},
    {"N": "9223372036854775808"},
    {"B": "AAECAw=="},
    {"SS": ["b", "a"]},
    {"L": [{"SS": ["x"]}]},
    {"M": {"k": {"N": "1"}}},
    None,
]
CELLS: list[Any] = [
    {},
    {REST: None},
    {REST: '{"remark": 5}'},
    {"state": "nowhere"},
    {"state": None, "remark": "\ud800"},
]


@given(st.dictionaries(st.sampled_from([*sorted(stored(7)), "more", "_w"]), st.sampled_from(VALUES), max_size=3))
def test_a_row_is_the_entity_that_the_slow_way_makes(changes: dict[str, Any]) -> None:
    item = {name: value for name, value in (stored(7) | changes).items() if value is not None}
    row = ORDERS.row(item | {"_type": {"S": "order"}, "_v": {"N": "1"}})
    for cells in CELLS:
        assert outcome(ORDERS, row | cells) == outcome(slowly(ORDERS), row | cells)


def test_an_item_under_another_key_than_its_attributes_make_is_read() -> None:
    row = ORDERS.row(stored(7) | {"pk": {"S": "elsewhere"}})
    assert ORDERS.entity_of(row) == order(7)


def test_nulls_inside_lists_and_maps_stay() -> None:
    assert cell_of([None, 1], pa.list_(pa.int64())) == [None, 1]
    assert cell_of({"a": None, "b": 1}, pa.map_(pa.string(), pa.int64())) == [("a", None), ("b", 1)]
    assert cell_of({"a": None}, pa.struct([pa.field("a", pa.string()), pa.field("b", pa.bool_())])) == {
        "a": None,
        "b": None,
    }


def test_a_text_of_csv_is_itself_and_json_null_is_no_value() -> None:
    assert cell_of_text("true", pa.string()) == "true"
    assert cell_of_text("null", pa.list_(pa.int64())) is None
    assert cell_of_text(None, pa.string()) is None
