"""The forms in which other programs store values: read, written back as they were, refused where they are another."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any

import msgspec
import pytest

from singletable import Entity, InvalidValue, Key, Table
from singletable.errors import Corrupt, DeclarationError
from singletable.schema import model_of
from singletable.values import (
    EpochSeconds,
    IsoMilliseconds,
    PynamoIso,
    PythonIso,
    ReadsAlso,
    TrueText,
    ZeroOne,
    json_text,
    plan_for,
    writer_of,
)

AT = datetime(2026, 1, 31, 9, 30, 0, 123000, tzinfo=timezone.utc)
table = Table("forms")


class Stored(Entity, table=table, type="stored"):
    id: str
    active: ZeroOne = False
    seen: TrueText = False
    at: IsoMilliseconds | None = None
    meta: Annotated[dict[str, Any], json_text] | None = None
    either: Annotated[IsoMilliseconds, ReadsAlso(EpochSeconds)] = AT

    @table.key
    @staticmethod
    def of(id: str) -> Key:
        return f"stored#{id}", "stored"


FORMS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "0 or 1": (ZeroOne, {"N": "1"}, True),
    "true or false": (TrueText, {"S": "false"}, False),
    "ISO milliseconds": (IsoMilliseconds, {"S": "2026-01-31T09:30:00.123Z"}, AT),
    "JSON text": (Annotated[dict[str, Any], json_text], {"S": '{"a":[1,2.5,"ö"]}'}, {"a": [1, 2.5, "ö"]}),
    "Python ISO": (PythonIso, {"S": "2026-01-31T09:30:00.123000+00:00"}, AT),
    "Python ISO without parts": (PythonIso, {"S": "2026-01-31T09:30:00+00:00"}, AT.replace(microsecond=0)),
    "PynamoDB ISO": (PynamoIso, {"S": "2026-01-31T09:30:00.123000+0000"}, AT),
    "the written form": (Annotated[IsoMilliseconds, ReadsAlso(EpochSeconds)], {"S": "2026-01-31T09:30:00.123Z"}, AT),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_read_and_written_as_it_was(form: str) -> None:
    kind, stored, value = FORMS[form]
    plan = plan_for(kind)
    assert plan.load(stored) == value
    assert type(plan.load(stored)) is type(value)
    assert writer_of(plan)(value) == stored


def test_the_compiled_reader_takes_them_too() -> None:
    codec = model_of(Stored).codec
    item = {
        "pk": {"S": "stored#1"},
        "sk": {"S": "stored"},
        "_type": {"S": "stored"},
        "_v": {"N": "1"},
        "id": {"S": "1"},
    }
    item |= {"active": {"N": "1"}, "seen": {"S": "true"}, "at": {"S": "2026-01-31T09:30:00.123Z"}}
    item |= {"meta": {"S": '{"a":1}'}, "either": {"N": "1769851800"}}
    read = codec.build(msgspec.json.decode(msgspec.json.encode(item), type=codec.wire, strict=False))
    assert read == codec.load(item)
    assert (read.active, read.seen, read.at, read.meta) == (True, True, AT, {"a": 1})
    assert read.either == AT.replace(microsecond=0)
    written = model_of(Stored).item(read)
    assert written == item | {"either": {"S": "2026-01-31T09:30:00.000Z"}}


REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (ZeroOne, {"N": "2"}),
    (ZeroOne, {"BOOL": True}),
    (TrueText, {"S": "True"}),
    (IsoMilliseconds, {"S": "2026-01-31"}),
    (IsoMilliseconds, {"S": "2026-01-31T09:30:00.123456Z"}),
    (IsoMilliseconds, {"S": "2026-01-31T09:30:00.5Z"}),
    (PythonIso, {"S": "2026-01-31T09:30:00Z"}),
    (PythonIso, {"S": "2026-01-31T11:30:00+02:00"}),
    (PynamoIso, {"S": "2026-01-31T09:30:00+0000"}),
    (PynamoIso, {"S": "2026-01-31T09:30:00.123456"}),
    (Annotated[dict[str, Any], json_text], {"S": '{"a":0.12345678901234567890123}'}),
    (Annotated[dict[str, Any], json_text], {"S": '{"a":NaN}'}),
    (Annotated[dict[str, Any], json_text], {"S": "{"}),
    (Annotated[IsoMilliseconds, ReadsAlso(EpochSeconds)], {"BOOL": True}),
]


@pytest.mark.parametrize(("kind", "stored"), REFUSED)
def test_another_stored_value_is_refused(kind: Any, stored: dict[str, Any]) -> None:
    with pytest.raises((ValueError, Corrupt)):
        plan_for(kind).load(stored)


def test_a_value_that_the_form_can_not_hold_is_refused() -> None:
    with pytest.raises(InvalidValue, match="parts of a millisecond"):
        writer_of(plan_for(IsoMilliseconds))(AT.replace(microsecond=1))
    with pytest.raises(InvalidValue, match="0 or 1"):
        writer_of(plan_for(ZeroOne))(1)
    with pytest.raises(InvalidValue):
        writer_of(plan_for(Annotated[dict[str, Any], json_text]))({"a": AT})


def test_two_forms_are_of_different_types() -> None:
    with pytest.raises(DeclarationError, match="not of the same type"):
        plan_for(Annotated[datetime, ReadsAlso(IsoMilliseconds)])
    with pytest.raises(DeclarationError, match="one text, number or flag"):
        plan_for(Annotated[list[str], ReadsAlso(str)])


def test_the_record_of_a_table_tells_the_forms_apart() -> None:
    forms = [plan_for(kind).form for kind, _, _ in FORMS.values()]
    assert len({msgspec.json.encode(form) for form in forms}) == len(FORMS) - 1  # one of them has two values


def test_any_value_of_json_is_a_text() -> None:
    """`Any` is a class in Python 3.11, of which nothing is an instance."""
    plan = plan_for(Annotated[Any, json_text])
    for text in ('{"a":[1,null]}', "[]", '"x"', "7"):
        assert writer_of(plan)(plan.load({"S": text})) == {"S": text}
