"""What adoption makes of items: kinds, keys, attributes; and what it does not choose in silence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from singletable import Index
from singletable.adopt import Adopted, TableLayout, adopted
from singletable.adopt.layout import layout_of
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


def test_digits_have_their_width_however_wide() -> None:
    items = [{"PK": f"U#{n:012}", "SK": "X", "n": n} for n in (7, 12, 130)]
    assert 'return f"U#{n:012}", "X"' in of(items).source


def test_classes_that_the_type_alone_tells_apart_share_keys() -> None:
    items = [{"PK": f"U#{n}", "SK": f"{n * 7}", "_type": ("a", "b")[n % 2], "n": n, "m": n * 7} for n in range(40)]
    outcome = of(items)
    assert (outcome.explained, outcome.unexplained) == ({"a": 20, "b": 20}, [])
    assert '    overlap="guard",\n' in outcome.source


def test_an_identifier_that_all_items_have_is_a_value() -> None:
    """One user was read: the class is not of this user alone."""
    items = [{"PK": "user#12345#post", "SK": f"p#{n}"} for n in range(9)]
    outcome = of(items)
    assert 'return f"user#{user:raw}#post", f"p#{p:raw}"' in outcome.source


def test_kinds_that_only_later_words_tell_apart_are_kinds() -> None:
    items = [{"PK": f"u#{n}", "SK": f"p#{n * n}", "a": n} for n in range(9)]
    more = [{"PK": f"u#{n}", "SK": f"p#{n * n}#like#{n % 5}", "b": "x"} for n in range(9)]
    outcome = of([*items, *more])
    assert sum(outcome.explained.values()) == 18
    assert len(outcome.kinds) == 2


def test_a_library_that_lowers_its_keys_does_so_for_texts_without_capitals() -> None:
    items = [
        {"PK": f"$shop#user_u{n}", "SK": f"$order_1#n_{n}", "user": f"u{n}", "n": n, "__edb_e__": "order"}
        | {"__edb_v__": "1"}
        for n in range(30)
    ]
    source = of(items).source
    assert 'return f"$shop#user_{user:lower}", f"$order_1#n_{n:raw}"' in source
    assert 'type="order", stamp={"__edb_v__": "1"}, ambiguous=True):' in source


def test_natural_keys_of_each_kind_are_attributes() -> None:
    layout = TableLayout(
        "readings",
        ("device", "at"),
        {"by_state": Index("state", "at")},
        {"device": "S", "at": "N", "state": "S"},
        ttl="gone",
    )
    items = [
        {"device": f"d{n % 3}", "at": 1_700_000_000 + n, "state": "ok", "gone": 1_800_000_000 + n, "v": n / 4}
        for n in range(30)
    ]
    outcome = of(items, layout)
    assert (sum(outcome.explained.values()), doubts(outcome)) == (30, [])
    for line in (
        '    key=("device", N("at")),',
        '        "by_state": Index("state", N("at")),',
        '    ttl_attribute="gone",',
        "    at: EpochSeconds",
        "    gone: datetime = field(expires=True)",
        "    v: Decimal",
        "    def of(device: str, at: datetime = ANY) -> Key:",
        '        return f"{state}", f"{at}"',
    ):
        assert f"{line}\n" in outcome.source


def test_a_local_index_has_the_partitions_of_the_table() -> None:
    """Though only some items are in it."""
    described = {
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "day")],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "by_day",
                "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }
    items: list[dict[str, Any]] = [
        {"PK": f"USER#u{n % 5}", "SK": f"ORDER#{n}", "owner": f"u{n % 5}", "number": n} for n in range(40)
    ]
    for n in range(0, 40, 4):
        items[n] |= {"day": f"2026-01-{n % 28 + 1:02}", "user": f"u{n % 5}"}
    layout = layout_of("plain", described, None)
    assert (layout.ignored, layout.indexes["by_day"].is_local) == ({}, True)
    outcome = of(items, layout)
    assert (sum(outcome.explained.values()), outcome.undeclared) == (40, {})
    for line in (
        "from singletable.tables import Local",
        '        "by_day": Local("day", projection="keys"),',
        '        return f"USER#{owner:raw}", f"{day}"',
    ):
        assert f"{line}\n" in outcome.source


def test_a_table_without_sort_key_and_with_bytes_is_declared() -> None:
    layout = TableLayout("files", ("digest", ""), {}, {"digest": "B"})
    items = [{"digest": bytes([n, 7]), "size": n, "tags": {"a"} if n % 2 else {"b", "c"}} for n in range(9)]
    del items[4]["tags"]
    outcome = of(items, layout)
    assert sum(outcome.explained.values()) == 9
    assert '    key=B("digest"),\n' in outcome.source
    assert "    def of(digest: bytes) -> str:\n" in outcome.source
    assert 'return f"{digest!r}"' in outcome.source
    assert "    tags: set[str] = field(default_factory=set[str])\n" in outcome.source


@pytest.mark.parametrize(
    ("name", "values", "declared"),
    [
        ("createdAt", [1_700_000_000, 1_700_000_007, 1_800_000_000], "EpochSeconds"),
        ("createdAt", [1_700_000_000, 7, 1_800_000_000], "int"),
        ("count", [1_700_000_000, 1_700_000_007, 1_800_000_000], "int"),
        ("is_active", [0, 1, 1], "ZeroOne"),
        ("likes", [0, 1, 1], "int"),
        ("flag", ["true", "false", "true"], "TrueText"),
        ("meta", ['{"a":1}', '{"b":[]}', "{}"], "Annotated[dict[str, Any], json_text]"),
        ("meta", ["[1]", '["a"]', "[]"], "Annotated[list[Any], json_text]"),
        ("meta", ["[1]", '{"a":1.5}', "[]"], "Annotated[Any, json_text]"),
        ("made", ["2026-01-31T09:30:00+00:00", "2026-01-31T09:30:07.120000+00:00"] * 2, "PythonIso"),
        ("made", ["2026-01-31T09:30:00.000000+0000", "2026-01-31T09:30:07.120000+0000"] * 2, "PynamoIso"),
        ("meta", ['{"a": 1}', '{"b":[]}', "{}"], "str"),
        ("at", ["2026-01-31T09:30:00.000Z"] * 2 + ["2026-01-31T09:30:00.120Z"], "IsoMilliseconds"),
        ("day", ["2026-01-31", "2026-02-01", "2026-02-02"], "date"),
        ("day", ["2026-01-31", "2026-02-01", "soon"], "str"),
        ("lines", [["a"], ["b", "c"], []], "list[str]"),
        ("lines", [["a"], [1], []], "list[Any]"),
        ("odd", [None, None, 1], "Any"),
    ],
)
def test_an_attribute_has_the_narrowest_type_that_keeps_it(name: str, values: list[Any], declared: str) -> None:
    items = [{"PK": f"U#{n}", "SK": "X", name: value} for n, value in zip((7, 12, 130), values, strict=False)]
    outcome = of(items)
    assert sum(outcome.explained.values()) == 3
    assert f": {declared}" in next(
        line for line in outcome.source.splitlines() if line.startswith(("    " + name[:3], "    created"))
    )


def test_a_day_of_a_time_in_another_form_is_read_from_it() -> None:
    """As boto3 code writes it: `at.isoformat()`, and its first ten characters in the key."""
    items = [
        {"PK": f"LOG#2026-01-{n:02}", "SK": f"{n * 7}", "at": f"2026-01-{n:02}T09:30:00+00:00"} for n in range(1, 30)
    ]
    outcome = of(items)
    assert (sum(outcome.explained.values()), doubts(outcome)) == (29, [])
    assert 'return f"LOG#{at:%Y-%m-%d}", f"{sk}"' in outcome.source
    assert "    at: PythonIso\n" in outcome.source


def test_names_that_python_does_not_take_are_others() -> None:
    names = ("class", "fooBar", "foo_bar", "1st", "of", "a-b", "type", "table", "field", "Ünicode", "match", "_x")
    items = [{"PK": f"U#{n}", "SK": "X", **{name: f"{name}{n}" for name in names}} for n in (7, 12, 130)]
    outcome = of(items)
    assert outcome.explained == {"x": 3}
    for line in (
        'class_: str = field(name="class")',
        'foo_bar: str = field(name="fooBar")',
        'of_: str = field(name="of")',
    ):
        assert f"    {line}\n" in outcome.source
    assert '    foo_bar_: str = field(name="foo_bar")\n' in outcome.source


def test_quotes_and_braces_in_literals_are_written_as_such() -> None:
    items = [{"PK": f'{{a}}"b"#{n}', "SK": "{x}", "n": n} for n in (7, 12, 130)]
    outcome = of(items)
    assert sum(outcome.explained.values()) == 3
    assert 'return f"{{a}}\\"b\\"#{n:raw}", "{x}"' in outcome.source


def test_an_index_that_only_some_items_are_in_by_another_rule_stays_undeclared() -> None:
    """The program leaves paid orders out of it, which no declaration says."""
    layout = TableLayout("plain", ("PK", "SK"), {"GSI": Index("GPK", "GSK")})
    items = [
        {"PK": f"U#{n}", "SK": "X", "n": n, "state": ("open", "paid")[n % 2]}
        | ({"GPK": "STATE#open", "GSK": f"{n}"} if n % 2 == 0 else {})
        for n in range(30)
    ]
    outcome = of(items, layout)
    assert outcome.explained == {"x": 30}
    assert outcome.kinds[0].left == ("the key of GSI: some items have another one than their attributes make, or none",)


def test_indexes_that_can_not_be_declared_are_ignored_with_a_reason() -> None:
    def schema(*names: str) -> list[dict[str, str]]:
        kinds = ("HASH", "RANGE", "RANGE")
        return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, kinds, strict=False)]

    described = {
        "KeySchema": schema("PK", "SK"),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "a", "b")],
        "GlobalSecondaryIndexes": [
            {"IndexName": "many", "KeySchema": schema("PK", "a", "b")},
            {"IndexName": "some", "KeySchema": schema("a"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
            {
                "IndexName": "held",
                "KeySchema": schema("b", "a"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
            },
        ],
    }
    layout = layout_of("plain", described, "a")
    assert (layout.ttl, {*layout.ignored}) == (None, {"many"})
    items = [{"PK": f"U#{n}", "SK": "X", "n": n, "a": f"a{n}", "b": f"b{n}"} for n in (7, 12, 130)]
    source = of(items, layout).source
    for line in (
        '    ignores=["many"],',
        '        "some": Index("a", projection="keys"),',
        '        "held": Index("b", "a", projection=("x",)),',
    ):
        assert f"{line}\n" in source


def test_a_type_of_what_an_item_is_about_divides_no_kind() -> None:
    """An address is of home or work: both are addresses, under keys of one form."""
    items = [
        {"PK": f"U#{n}", "SK": f"A#{n * 7}", "n": n, "m": n * 7, "type": ("home", "work")[n % 2]} for n in range(30)
    ]
    outcome = of(items)
    assert outcome.explained == {"a": 30}
    assert "type_attribute" not in outcome.source


def test_a_value_with_signs_that_is_in_the_key_alone_is_one_value() -> None:
    places = ("north-east", "south", "far north", "x-y-z")
    items = [{"PK": f"CITY#{places[n % 4]}#{n}", "SK": "X", "n": n} for n in range(30)]
    assert 'return f"CITY#{city:raw}#{n:raw}", "X"' in of(items).source


@pytest.mark.parametrize("odd", [1, 77, 120])
def test_one_item_of_many_says_which_attribute_a_key_has(odd: int) -> None:
    """Items whose keys are not read in every way leave of an ambiguous place what is right for them."""
    items = [{"PK": f"U#u{n}", "SK": f"O#{n}x", "n": f"{n}x", "owner": f"u{n}", "user": f"u{n}"} for n in range(200)]
    items[odd]["user"] = "other"
    outcome = of(items)
    assert 'return f"U#{owner:raw}", f"O#{n:raw}"' in outcome.source
    assert doubts(outcome) == []


@pytest.mark.parametrize(
    ("key", "name", "value", "doubt"),
    [
        ("acme-{n}", "tenant", "acme", "'acme' is a literal, or the attribute tenant"),
        ("t#acme#{n}", "tenant", "ACME", "'acme' is a literal, or the attribute {tenant:lower}"),
        ("o#{n}#v#0001", "version", 1, "'0001' is a literal, or the attribute {version:04}"),
        ("o#{n}#v1", "version", 1, "'1' is a literal, or the attribute version"),
    ],
)
def test_a_word_that_an_attribute_has_in_some_form_in_all_items_is_told(
    key: str, name: str, value: Any, doubt: str
) -> None:
    items = [{"PK": "A#" + key.format(n=n * 7), "SK": "X", "n": n * 7, name: value} for n in range(9)]
    assert doubts(of(items)) == [f"PK: {doubt}, which is so in all 9 items"]


def test_digits_behind_a_letter_are_an_attribute() -> None:
    items = [{"PK": f"o#{n // 4}", "SK": f"v{n % 4}", "version": n % 4, "n": n * 7} for n in range(50)]
    assert 'return f"o#{o:raw}", f"v{version:raw}"' in of(items).source


def test_the_separator_is_the_sign_of_most_keys() -> None:
    """A UUID has four signs, in one key; a table can't be declared with a colon."""
    identifier = "0e3c1b52-99a1-4d08-b8a2-3f1b0d7e{:04x}"
    items = [{"PK": f"c#{identifier.format(n)}", "SK": f"o#{n}", "id": identifier.format(n), "n": n} for n in range(9)]
    assert "separator" not in of(items).source
    colons = [
        {name: text.replace("#", ":") if isinstance(text, str) else text for name, text in i.items()} for i in items
    ]
    assert "separator" not in of(colons).source
