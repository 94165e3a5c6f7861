"""What adoption makes of items: kinds, keys, attributes; and what it does not choose in silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from singletable import Index
from singletable.adopt import Adopted, TableLayout, adopted
from singletable.errors import InvalidRequest
from tests.adopt.tables import SHOP, shop, stored

PLAIN = TableLayout("plain", ("PK", "SK"))


def of(items: Iterable[dict[str, Any]], layout: TableLayout = PLAIN) -> Adopted:
    return adopted([stored(**item) for item in items], layout)


def doubts(outcome: Adopted) -> list[str]:
    return [doubt for kind in outcome.kinds for doubt in kind.doubts]


@pytest.fixture(scope="module")
def adopted_shop() -> Adopted:
    return of(shop(), SHOP)


def test_every_item_of_a_table_without_types_is_explained(adopted_shop: Adopted) -> None:
    assert adopted_shop.explained == {
        "profile": 20,
        "order": 60,
        "item": 60,
        "log": 60,
        "member": 60,
        "session_metadata": 60,
    }
    assert (adopted_shop.unexplained, doubts(adopted_shop)) == ([], [])


@pytest.mark.parametrize(
    "line",
    [
        'return f"USER#{user:raw}", "PROFILE"',
        'return f"EMAIL#{email:lower}", f"USER#{user:raw}"',
        'return f"USER#{user_id:raw}", f"ORDER#{order_id:raw}"',
        'return f"STATUS#{status:raw}", f"{created_at:raw}"',
        'return f"ORDER#{order:raw}", f"ITEM#{item:04}"',
        'return f"LOG#{ts:%Y-%m-%d}", f"{ts:ms}#{sk_value:raw}"',
        'return f"ORG#{org:raw}", f"MEMBER#{member:raw}#{sk_value:raw}"',
        'return f"SESSION#{session:raw}", "METADATA"',
        "ts: EpochMilliseconds",
        "expires: EpochSeconds",
        'order_id: int = field(name="orderId")',
        "item: int = field(in_key=True)",
    ],
)
def test_keys_and_types_are_those_of_the_program(adopted_shop: Adopted, line: str) -> None:
    assert f" {line}\n" in adopted_shop.source


def test_two_attributes_that_fit_one_place_are_told() -> None:
    """In all items the owner is the user: nothing says which of them the key has."""
    items = [{"PK": f"U#u{n}", "SK": f"O#{n * 3}", "n": n * 3, "owner": f"u{n}", "user": f"u{n}"} for n in range(1, 30)]
    assert doubts(of(items)) == ["PK: {owner} or {user}"]
    assert "    # ambiguous: PK: {owner} or {user}\n    @plain.key\n" in of(items).source
    items[7]["owner"] = "u9"
    assert doubts(of(items)) == []


def test_a_literal_that_an_attribute_has_in_all_items_is_told() -> None:
    items = [{"PK": f"U#u{n}", "SK": "STATE#open", "state": "open", "n": n} for n in range(9)]
    assert doubts(of(items)) == ["SK: 'open' is a literal, or the attribute state, which is so in all 9 items"]


def test_digits_of_one_width_are_told() -> None:
    items = [{"PK": f"U#{n}", "SK": "X", "n": n} for n in range(10, 40)]
    assert doubts(of(items)) == ["PK: {n:raw} or {n:02}"]
    assert doubts(of([*items, {"PK": "U#7", "SK": "X", "n": 7}])) == []


def test_a_lossy_form_that_no_name_suggests_is_told() -> None:
    """The key has the name in lower case, in all items; or an id, by chance."""
    items = [{"PK": f"U#ada{n}", "SK": "X", "name": f"Ada{n}"} for n in range(30)]
    assert doubts(of(items)) == ["PK: {name:lower} or a value that is in keys alone"]
    named = [{"PK": f"NAME#ada{n}", "SK": "X", "name": f"Ada{n}"} for n in range(30)]
    assert doubts(of(named)) == []


def test_an_attribute_names_the_type_where_it_does() -> None:
    """`kind` says what an item is; `state` looks like it, and does not."""
    items = [
        {"PK": f"A#{n}", "SK": f"{'OT'[n % 2]}#{n * n}", "kind": ("order", "ticket")[n % 2], "state": "ab"[n // 3 % 2]}
        for n in range(40)
    ]
    outcome = of(items)
    assert '    type_attribute="kind",\n' in outcome.source
    assert outcome.explained == {"order": 20, "ticket": 20}


def test_items_of_no_kind_are_counted_with_a_key() -> None:
    """Nothing makes these two alike, and a class of both would have the keys of all others."""
    good = [{"PK": f"U#{n}", "SK": f"O#{n * 7}", "n": n} for n in range(30)]
    outcome = of([*good, {"PK": "\tx", "SK": "%%"}])
    assert sum(outcome.explained.values()) == 30
    (rest,) = outcome.unexplained
    assert (rest.count, rest.example) == (1, ("\tx", "%%"))


def test_items_that_have_nothing_in_common_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="have nothing in common"):
        of([{"PK": "\tx", "SK": "%%", "a": 1}, {"PK": "\x01", "SK": "\x02", "b": 2}])
    with pytest.raises(InvalidRequest, match="has no items to adopt"):
        of([])


def test_an_index_key_that_no_attributes_make_stays_undeclared() -> None:
    """Its day is nowhere else; the item keeps it, and the report says so."""
    layout = TableLayout("plain", ("PK", "SK"), {"GSI": Index("GPK", "GSK")})
    items = [{"PK": f"U#{n}", "SK": "X", "n": n, "GPK": f"DAY#{n * n + 3}", "GSK": f"{n}"} for n in range(30)]
    outcome = of(items, layout)
    assert outcome.explained == {"x": 30}
    assert outcome.undeclared == {"x": ["GPK", "GSK"]}
    assert outcome.kinds[0].left == ("the key of GSI: no attributes make it",)


def test_values_of_several_types_are_carried_or_any() -> None:
    items: list[dict[str, Any]] = [{"PK": f"U#{n}", "SK": "X", "n": n, "v": n if n % 2 else f"{n}"} for n in range(30)]
    assert "    v: Any\n" in of(items).source
    del items[3]["v"]
    outcome = of(items)
    assert outcome.explained == {"x": 30}
    assert outcome.undeclared == {"x": ["v"]}
