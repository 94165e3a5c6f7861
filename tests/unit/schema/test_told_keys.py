"""Keys that don't tell their values apart are refused when the class is made, with values that meet."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import partial
from types import new_class
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, Table, at_least, field, starting_with
from singletable.errors import DeclarationError
from singletable.schema import copy_of, model_of
from singletable.schema.key_relations import named_in_keys
from singletable.schema.key_text import KeyPart, Template
from singletable.schema.overlap import could_meet
from singletable.schema.references import complete_patterns, references_in
from singletable.streams import Changes


def declare(partition: str, sort: str, *, separator: str = "#", index: bool = False, **options: Any) -> Any:
    """A class with these f-strings as its key, or as that of an index."""
    names = [name for name in ("a", "b", "n", "at") if re.search(f"{{{name}[:}}]", partition + sort)]
    types = {"a": "str", "b": "str", "n": "int", "at": "datetime"}
    source = f"""
class Held(Entity, table=table, type="held", **options):
    a: str
    b: str
    n: int
    at: datetime

    @table.{'index("gsi1")' if index else "key"}
    @staticmethod
    def by({", ".join(f"{name}: {types[name]}" for name in names)}) -> Key:
        return f{partition!r}, f{sort!r}
"""
    if index:
        source += """
    @table.key
    @staticmethod
    def whole(a: str) -> Key:
        return f"whole#{a}", "held"
"""
    space: dict[str, Any] = {
        "table": Table("table", indexes=["gsi1"], separator=separator),
        "Entity": Entity,
        "Key": Key,
        "ANY": ANY,
        "datetime": datetime,
        "options": options,
        "__name__": __name__,
    }
    exec(source, space)
    return space["Held"]


@pytest.mark.parametrize(
    ("sort", "said"),
    [
        ("{a:raw}__{b:raw}", r"a='x_', b='x' and a='x', b='_x'"),
        ("{a:raw}{b:raw}", r"a='x', b='xx' and a='xx', b='x'|a='xx', b='x' and a='x', b='xx'"),
        ("{n:raw}{b:raw}", r"n='1', b='1.*' and n='11', b=|n='11', b=.* and n='1', b='1"),
        ("{a:lower}", r"'Ada' and 'ADA' give one text"),
        ("{at:%Y-%m-%d}", "two times of one period give one text"),
    ],
)
def test_a_key_that_two_values_share_is_refused_with_both(sort: str, said: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Held\.by: .* does not tell its values apart: .*({said})"):
        declare("held", sort)
    assert declare("held", sort, ambiguous=True)


@pytest.mark.parametrize("sort", ["{a:lower}", "{at:%Y-%m-%d}", "{a:upper}#{n:raw}"])
def test_an_index_may_have_one_text_for_several_values(sort: str) -> None:
    assert declare("held", sort, index=True)


def test_an_index_is_refused_where_texts_could_be_divided_otherwise() -> None:
    with pytest.raises(DeclarationError, match="does not tell its values apart"):
        declare("held", "{a:raw}__{b:raw}", index=True)


def test_a_beginning_that_other_values_have_is_refused() -> None:
    """Two numbers, of which the second may be left out: 1 begins as 10 does."""
    with pytest.raises(DeclarationError, match=r"beginning so, '1.*' is n='11' and n='1', at="):
        declare("held", "{n:raw}{at:%Y-%m-%dT%H:%M:%S.%f}")


@pytest.mark.parametrize(
    ("partition", "sort", "separator", "values", "texts"),
    [
        ("tenant-{n:raw}", "{a}-{b}", "#", {"n": 7, "a": "x-y#z", "b": "1-2"}, ("tenant-7", "x%2Dy#z-1-2")),
        ("{a:raw}::{n:012}", "x", "#", {"a": "b:c", "n": 42}, ("b:c::000000000042", "x")),
        ("{a}::{b}", "{n}::end", "::", {"a": "x:y", "b": "p::q", "n": 5}, ("x%3Ay::p::q", "a5::end")),
        ("{at:%Y%m%d}{n:04}", "{at:ms}x", "|", {"n": 5}, ("202601310005", "1769862600000x")),
        (
            "{a}-item-{b}",
            "{b:raw}-item-{n}",
            "#",
            {"a": "x-m", "b": "item", "n": 5},
            ("x%2Dm-item-item", "item-item-a5"),
        ),
        ("account:{a:raw}", "user:{b:raw}", ":", {"a": "1", "b": "2:3"}, ("account:1", "user:2:3")),
    ],
)
def test_any_signs_separate_values(
    partition: str, sort: str, separator: str, values: dict[str, Any], texts: tuple[str, str]
) -> None:
    kind = declare(partition, sort, separator=separator)
    if "at" in kind.by.captured.parameters:
        values = {**values, "at": datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)}
    key = kind.by(**values)
    assert (key.partition, key.low) == texts
    assert [template.meeting for template in key.captured.templates] == ["", ""]


def test_a_text_before_other_signs_has_its_controls_escaped() -> None:
    kind = declare("{a}::{b}", "held", index=True)
    assert kind.by("x:\n%", "\n").partition == "x%3A%0A%25::\n"


def test_a_text_without_a_longer_separator_may_hold_a_part_of_it() -> None:
    raw = declare("held", "{a:raw}:::{b}", ambiguous=True).by.captured.templates[1]
    for text, is_one in (("b::c:::x", True), (":::x", False), ("::::x", True), ("b:::", True), ("b::", False)):
        (other,) = (Template((KeyPart(text),), "|"),)
        assert (could_meet(raw, other) is not None) is is_one


def test_a_raw_text_before_another_part_takes_no_range() -> None:
    kind = declare("held", "{a:raw}#{b}", index=True)
    with pytest.raises(InvalidRequest, match="a text that is not escaped has no order before another part"):
        kind.by(at_least("x"), ANY)
    assert kind.by(starting_with("x"), ANY).low == "x"


def test_a_raw_text_before_several_signs_takes_no_beginning() -> None:
    kind = declare("held", "{a:raw}_-{n:03}", index=True)
    assert kind.by("x", 7).low == "x_-007"
    with pytest.raises(InvalidRequest, match="a text that is not escaped has no order before another part"):
        kind.by(starting_with("x_"), ANY)  # the key of x begins so


def test_keys_in_different_forms_name_no_item_of_each_other() -> None:
    table = Table("table", indexes=["gsi1"])

    class User(Entity, table=table, type="user"):
        number: int

        @table.key
        @staticmethod
        def by(number: int) -> Key:
            return f"user#{number:raw}", "user"

    def holder(form: str) -> Any:
        def by(number: int, id: int) -> Key:
            return f"user#{format(number, form)}", f"holder{form}#{id}"

        body = {
            "__annotations__": {"number": int, "id": int},
            "by": table.key(staticmethod(by)),
            "__module__": __name__,
        }
        return new_class("Holder", (Entity,), {"table": table, "type": f"holder{form}"}, partial(_fill, body))

    same, other = (model_of(holder(form)) for form in ("raw", "06"))
    assert [*named_in_keys(same, model_of(User))] == [(("number", "number"),)]
    assert [*named_in_keys(other, model_of(User))] == []


def test_copies_and_erasures_follow_no_partition_that_other_values_share() -> None:
    table = Table("table", indexes=["gsi1"], stream="new_and_old")

    class User(Entity, table=table, type="user"):
        email: str
        name: str
        revision: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def by(email: str) -> Key:
            return f"user#{email}", "user"

    class Badge(Entity, table=table, type="badge"):
        id: str
        email: str = field(belongs_to=User.email)
        name: str = copy_of(User.name)

        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"badge#{id}", "badge"

        @table.index("gsi1")
        @staticmethod
        def of_user(email: str) -> Key:
            return f"user#{email:lower}", "badge"

    with pytest.raises(DeclarationError, match="doesn't tell email apart"):
        Changes(table).keep_copies(Badge.of_user)
    references = [one for one in references_in(model_of(Badge)) if one.bond == "belongs_to"]
    assert [[*complete_patterns(model_of(Badge), reference)] for reference in references] == [[]]


def test_letters_and_digits_separate_nothing() -> None:
    for separator in ("x", "0", "", "%", "a:", "\n"):
        with pytest.raises(DeclarationError, match="can't separate the parts of keys"):
            Table("table", separator=separator)
    for sort in ("{a}x{b}", "{a}{b}", "{n}{a:raw}"):
        with pytest.raises(DeclarationError, match="followed by more text"):
            declare("held", sort)


def _fill(body: dict[str, Any], names: dict[str, Any]) -> None:
    names.update(body)


def test_an_attribute_that_is_in_the_key_alone_has_to_be_told() -> None:
    table = Table("table", foreign=True)

    def held(form: str) -> Any:
        def by(id: str) -> Key:
            return f"{format(id, form)}", "held"

        types = {"__annotations__": {"id": str}, "__module__": __name__}
        body = {**types, "id": field(in_key=True), "by": table.key(staticmethod(by))}
        return new_class(
            "Held", (Entity,), {"table": table, "type": "held", "ambiguous": form == "lower"}, partial(_fill, body)
        )

    with pytest.raises(DeclarationError, match=r"Held\.by: id is stored in its key only, which doesn't tell its value"):
        held("lower")
    kind, item = held("raw"), {"pk": {"S": "a#b"}, "sk": {"S": "held"}}
    assert model_of(kind).item(kind(id="a#b")) == item
    assert model_of(kind).load(item) == kind(id="a#b")


def test_a_key_that_was_another_is_not_ambiguous() -> None:
    table = Table("table")

    def before(a: str) -> Key:
        return f"old#{a}", "held"

    def lower(a: str) -> Key:
        return f"new#{a:lower}", "held"

    def raw(a: str) -> Key:
        return f"new#{a:raw}", "held"

    for by, options, said in ((raw, {"ambiguous": True}, "no key that was another"), (lower, {}, "doesn't tell")):
        body = {"__annotations__": {"a": str}, "by": table.key(was=before)(staticmethod(by)), "__module__": __name__}
        facts = {"table": table, "type": "held", **options}
        with pytest.raises(DeclarationError, match=said):
            new_class("Held", (Entity,), facts, partial(_fill, body))


def test_a_class_with_other_values_may_share_nothing_with_another() -> None:
    one = declare("held", "{n:raw}-{a:raw}", separator="#")
    assert model_of(one).table.models[0].is_ambiguous is False
    with pytest.raises(DeclarationError, match="could have the same key"):

        class Other(Entity, table=model_of(one).table, type="other"):
            a: str

            @model_of(one).table.key
            @staticmethod
            def by(a: str) -> Key:
                return "held", f"1-{a}"
