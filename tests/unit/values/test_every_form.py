"""Each form of a value in a key, through everything that handles keys: one that lacks a fact fails by its format."""

from __future__ import annotations

import types
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zlib import crc32

import msgspec
import pytest

from singletable import ANY, Entity, InvalidValue, Table, at_least, attr, field
from singletable.errors import DeclarationError, InvalidRequest
from singletable.exchange.datasets import datasets_of
from singletable.exchange.masked_items import ItemMask
from singletable.exchange.masks import Mask
from singletable.migrations.differences import differences
from singletable.migrations.model_document import document_of, stale_types
from singletable.operations.answers import encode
from singletable.pattern_calls import Pattern, argument_of, patterns_of
from singletable.records.index_keys import Planned, plan_keys
from singletable.records.query_request import prepare_query
from singletable.schema import model_of
from singletable.schema.catalogue import catalogue
from singletable.schema.personal import COVERED, covered_body
from singletable.studio.pattern_forms import field_of
from singletable.values import VALUE_TYPES, in_form
from singletable.values.key_forms.every_form import FORMS
from singletable_deploy.key_patterns import covers, key_patterns
from singletable_mcp.schema import arguments_in, schema_of

NOON = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)
SAMPLES: dict[tuple[type[Any], str], tuple[Any, str]] = {
    (str, "raw"): ("Ada #1, 5%", "Ada #1, 5%"),
    (int, "raw"): (-42, "-42"),
    (str, "lower"): ("Ada@Example.org", "ada@example.org"),
    (str, "upper"): ("gb-lon", "GB-LON"),
    (str, "folded"): ("Łukasz  ÉMILE #1", "lukasz emile %231"),
    (datetime, "s"): (NOON, "1769862600"),
    (datetime, "ms"): (NOON.replace(microsecond=5000), "1769862600005"),
    (datetime, "%Y-%m"): (NOON, "2026-01"),
    (date, "%Y-%m"): (date(999, 1, 31), "0999-01"),
    (str, "ulid"): ("01KG9ZQ4M0ABCDEFGHJKMNPQRS", "01KG9ZQ4M0ABCDEFGHJKMNPQRS"),
    (str, "ksuid"): ("2ZxYk8mPqRsTuVwXyZaBcDeFgHi", "2ZxYk8mPqRsTuVwXyZaBcDeFgHi"),
}
SHARDED: dict[type[Any], tuple[Any, str]] = {
    str: ("Ada #1, 5%", "Ada #1, 5%"),
    int: (-42, "-42"),
    Decimal: (Decimal("12.5"), "b12.5"),
    datetime: (NOON, "2026-01-31T12:30:00.000000Z"),
    date: (date(999, 1, 31), "0999-01-31"),
    time: (time(12, 30), "12:30:00.000000"),
    timedelta: (timedelta(minutes=1), "b60.0"),
    UUID: (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
}
"""A value of each type with the text that is hashed."""
SAMPLES |= {(kind, "shard(8)"): (value, str(crc32(text.encode()) % 8)) for kind, (value, text) in SHARDED.items()}
every_form = pytest.mark.parametrize(("kind", "form"), SAMPLES, ids=lambda part: getattr(part, "__name__", part))


def declared(kind: type[Any], form: str, *, personal: bool = False) -> tuple[Table, Any]:
    """A class with an attribute in an index in a form: in the sort key, or a shard in the partition key."""
    table = Table("shifts", indexes=["gsi1"])

    def of(who: str) -> Any:
        """One person."""
        return f"who#{who}", "alone"

    def by(who: str, value: Any = ANY) -> Any:
        """A person's values."""
        text = eval(f"f'at#{{value:{form}}}'", {"value": value})
        return (text, f"who#{who}") if place_of(form) == 0 else (f"who#{who}", text)

    of.__annotations__ = by.__annotations__ = {"who": str}
    names = {
        "__annotations__": {"who": str, "value": kind},
        "value": field(personal=personal),
        "of": table.key(staticmethod(of)),
        "by": table.index("gsi1")(staticmethod(by)),
    }
    return table, types.new_class("Held", (Entity,), {"table": table, "type": "held"}, lambda body: body.update(names))


def place_of(form: str) -> int:
    """The key text that a form is in: 0 for the partition key."""
    return 0 if form.startswith("shard") else 1


def text_of(query: Any, form: str) -> str:
    return str((query.partition, query.low)[place_of(form)])


def pattern_of(table: Table) -> Pattern:
    return next(pattern for pattern in patterns_of(table) if pattern.name == "by")


def stored(item: Any) -> Any:
    return msgspec.json.decode(encode(item))


def test_every_form_has_a_sample() -> None:
    assert {(kind, form.example) for form in FORMS for kind in form.types} == SAMPLES.keys()


@every_form
def test_an_item_has_it_and_keeps_its_bytes(kind: type[Any], form: str) -> None:
    _, held = declared(kind, form)
    value, text = SAMPLES[kind, form]
    item = stored(model_of(held).item(held(who="ada", value=value)))
    assert item[("gsi1pk", "gsi1sk")[place_of(form)]] == {"S": f"at#{text}"}
    again: Any = model_of(held).load(item)
    assert again.value == value
    assert stored(model_of(held).item(again)) == item
    for wrong in (None, object(), True):
        with pytest.raises(InvalidValue):
            held.by("ada", wrong)


@every_form
def test_a_call_gives_its_text_and_reads_what_it_tells(kind: type[Any], form: str) -> None:
    _, held = declared(kind, form)
    value, text = SAMPLES[kind, form]
    query = held.by("ada", value)
    template, key = query.captured.templates[place_of(form)], text_of(query, form)
    assert (key, query.low) == (f"at#{text}", query.high)
    told = {} if template.untold else {"value": value}
    assert template.read(key) == told
    assert template.write(template.read(key, whole=True)) == key


@every_form
def test_an_update_rewrites_its_key(kind: type[Any], form: str) -> None:
    _, held = declared(kind, form)
    value, text = SAMPLES[kind, form]
    planned = plan_keys(model_of(held), held.of("ada"), (attr(held.value).set(value),), None)
    assert isinstance(planned, Planned)
    name = ("gsi1pk", "gsi1sk")[place_of(form)]
    assert [(change.name, change.value) for change in planned.changes] == [(name, {"S": f"at#{text}"})]


@every_form
def test_another_form_is_another_key_in_the_record(kind: type[Any], form: str) -> None:
    was, now = (document_of(declared(kind, each)[0]) for each in ("", form))
    assert stale_types(now, was) == ["held"]
    assert [(one.rule, one.index) for one in differences(was, now, {})] == [("pattern.changed", "gsi1")]


@every_form
def test_an_export_reads_it_the_fast_way(kind: type[Any], form: str) -> None:
    table, held = declared(kind, form)
    dataset = datasets_of(table)[0]
    item = model_of(held).item(held(who="ada", value=SAMPLES[kind, form][0]))
    batch, slow = dataset.decode([msgspec.Raw(encode(item))] * 2)
    assert slow == []
    assert [stored(again) for again in dataset.items(batch)] == [stored(item)] * 2


@every_form
def test_a_masked_item_has_a_key_in_the_form(kind: type[Any], form: str) -> None:
    table, held = declared(kind, form, personal=True)
    value, text = SAMPLES[kind, form]
    name = ("gsi1pk", "gsi1sk")[place_of(form)]
    item = stored(model_of(held).item(held(who="ada", value=value)))
    masked = ItemMask(table, Mask(b"a key of 16 bytes")).item(item)
    assert masked is not None
    hidden: Any = model_of(held).load(masked)
    assert hidden.value != value
    assert masked[name] == {"S": text_of(held.by("ada", hidden.value), form)}
    assert len(masked[name]["S"]) >= len(f"at#{text}")


@every_form
def test_what_is_personal_is_covered_in_it(kind: type[Any], form: str) -> None:
    _, held = declared(kind, form, personal=True)
    query = held.by("ada", SAMPLES[kind, form][0])
    covered = (f"at#{COVERED}", COVERED)[place_of(form)]
    assert covered_body(query, {"asked": text_of(query, form)}) == {"asked": covered}
    if form.startswith("%"):  # the filter of a range within a period has the value itself
        ranged = held.by("ada", at_least(SAMPLES[kind, form][0]))
        body = msgspec.json.decode(prepare_query(ranged, 0.0).operation(None).request().body)
        assert SAMPLES[kind, form][0].isoformat()[:10] in str(body)
        assert SAMPLES[kind, form][0].isoformat()[:10] not in str(covered_body(ranged, body))


@every_form
def test_a_policy_and_a_catalogue_have_it(kind: type[Any], form: str) -> None:
    table, _ = declared(kind, form)
    template, text = pattern_of(table).captured.templates[place_of(form)], f"at#{SAMPLES[kind, form][1]}"
    assert any(covers(pattern.replace("?", "*"), text) for pattern in key_patterns(template, {}, "Held.by"))
    shown = [(one.partition, one.sort)[place_of(form)] for one in catalogue(table)]
    assert shown[1] == "at#{value}"


@every_form
def test_words_a_tool_and_a_form_take_it(kind: type[Any], form: str) -> None:
    table, _ = declared(kind, form)
    pattern, value = pattern_of(table), SAMPLES[kind, form][0]
    slot, text = pattern.slots["value"], VALUE_TYPES[kind].shown(value)
    assert argument_of(slot, "exactly", [text]) == value
    for how in pattern.ranges("value"):
        query: Any = pattern.call(who="ada", value=argument_of(slot, how, [text, text]))
        assert query.low.startswith("at#")
    one = schema_of(pattern, {})["properties"]["value"]
    assert one.get("type", one.get("anyOf", [{}])[0].get("type")) == ("integer" if kind is int else "string")
    assert arguments_in(pattern, {"who": "ada", "value": text}, {})["value"] == value
    assert field_of(pattern, "value", slot).wanted == slot.value_type.hint


@every_form
def test_a_range_is_in_order_or_refused(kind: type[Any], form: str) -> None:
    table, held = declared(kind, form)
    value, text = SAMPLES[kind, form]
    if not pattern_of(table).ranges("value"):
        with pytest.raises(InvalidRequest, match=r"value takes no range|as its shard alone"):
            held.by("ada", at_least(value))
        return
    if pattern_of(table).ranges("value") == ("starting-with",):
        with pytest.raises(InvalidRequest, match=r"starting_with\(\) alone"):
            held.by("ada", at_least(value))
        return
    query = held.by("ada", at_least(value))
    assert query.low == f"at#{text}"
    assert (query.filter is not None) == form.startswith("%")


@pytest.mark.parametrize(
    ("kind", "form", "said"),
    [
        (int, "012d", r"Write \{value:012\}: the width alone"),
        (int, "6", r"An int takes \{value:06\}, \{value:raw\}"),
        (
            str,
            "06",
            r"\{value:rest\}, \{value:raw\}, \{value:lower\}, \{value:upper\}, \{value:folded\}",
        ),
        (float, "raw", "no sortable text"),
        (datetime, "%d-%m-%Y", "largest first"),
        (datetime, "%y", "largest first"),
        (datetime, "%Y-%d", "largest first"),
        (datetime, "%Y-%m-%d %I", "largest first"),
        (date, "%Y-%m-%d %H", "Write %Y %m %d in this order"),
        (date, "s", r"A date takes \{value:%Y-%m\}"),
        (datetime, "%", "largest first"),
        (str, "shard", "Write how many shards, 2 to 64"),
        (str, "shard(1)", "Write how many shards, 2 to 64"),
        (str, "shard(65)", "Write how many shards, 2 to 64"),
        (int, "shard(08)", "Write how many shards, 2 to 64"),
        (bool, "shard(8)", "no sortable text"),
    ],
)
def test_a_format_that_is_nearly_one_says_what_to_write(kind: type[Any], form: str, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        declared(kind, form)


@pytest.mark.parametrize(
    ("kind", "form", "value", "said"),
    [
        (str, "raw", "", "it is empty"),
        (str, "ulid", "01kg9zq4m0abcdefghjkmnpqrs", "26 digits and upper-case letters"),
        (str, "ksuid", "short", "27 digits and letters"),
        (datetime, "s", NOON.replace(microsecond=1), "part of a second"),
        (datetime, "ms", NOON.replace(microsecond=1), "part of a millisecond"),
        (datetime, "s", datetime(1999, 1, 1, tzinfo=timezone.utc), "10 digits, from 2001-09-09"),
        (datetime, "ms", datetime(2999, 1, 1, tzinfo=timezone.utc), "13 digits"),
        (datetime, "s", datetime(1969, 1, 1, tzinfo=timezone.utc), "10 digits"),
        (datetime, "%Y", datetime(2026, 1, 1), "zone"),
        (str, "lower", "\ud800", "surrogate"),
        (str, "folded", "\ud800", "surrogate"),
    ],
)
def test_a_value_without_a_text_in_the_form_is_refused(kind: type[Any], form: str, value: Any, said: str) -> None:
    _, held = declared(kind, form)
    with pytest.raises(InvalidValue, match=said) as refused:
        held.by("ada", value)
    assert refused.value.attribute == "Held.value"


def test_a_format_of_another_type_is_not_one() -> None:
    text = VALUE_TYPES[str].key
    assert text is not None
    assert in_form(text, "ms") is None
