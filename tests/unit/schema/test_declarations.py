"""Classes and tables that can't hold are refused when they are made."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from singletable import ANY, Collection, Entity, Index, InvalidRequest, Key, Table, attr, collect, field
from singletable.errors import DeclarationError
from singletable.operations import encode, read_item
from singletable.schema.models import model_of


def fresh(**options: Any) -> Table:
    return Table("table", indexes=["gsi1", "gsi2"], **options)


def entity(table: Table, name: str, kind: str, key: str, parameters: str = "id: str", fields: str = "") -> Any:
    source = f"""
class {name}(Entity, table=table, type={kind!r}):
    id: str
    ref: UUID = UUID(int=0)
    {fields or "pass"}

    @table.key
    @staticmethod
    def by({parameters}) -> Key:
        return {key}
"""
    space: dict[str, Any] = {
        "table": table,
        "Entity": Entity,
        "Key": Key,
        "UUID": UUID,
        "datetime": datetime,
        "field": field,
        "ANY": ANY,
        "__name__": __name__,
    }
    exec(source, space)
    return space[name]


@pytest.mark.parametrize(
    ("one", "other", "example"),
    [
        ("f'user#{id}', 'x'", "f'user#{id}', 'x'", "user#.* / x"),
        ("f'user#{id}', 'x'", "'user#all', 'x'", "user#all / x"),
        ("f'user#{id}', 'x'", "f'user#{ref}', 'x'", "user#.* / x"),
        ("f'{id}', 'x'", "f'user', 'x'", "user / x"),
    ],
)
def test_keys_that_could_be_equal_are_refused_with_an_example(one: str, other: str, example: str) -> None:
    table = fresh()
    entity(table, "One", "one", one)
    parameters = "" if "{" not in other else "ref: UUID" if "ref" in other else "id: str"
    with pytest.raises(DeclarationError, match=f"Other and One could have the same key, as in {example}.*guard"):
        entity(table, "Other", "other", other, parameters)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f'user#{id}', 'user'", "f'user#{id}', f'member#{ref}'"),
        ("f'user#{id}', 'x'", "f'user#{ref}', 'y'"),
        ("f'user#{ref}', 'x'", "f'user#all#{id}', 'x'"),
    ],
)
def test_keys_that_differ_somewhere_live_together(one: str, other: str) -> None:
    table = fresh()
    entity(table, "One", "one", one, "ref: UUID" if "ref" in one else "id: str")
    names = [part for part in ("id: str", "ref: UUID") if part[:2] in other.replace("user", "")]
    entity(table, "Other", "other", other, ", ".join(names))
    assert [m.type for m in table.models] == ["one", "other"]


def test_a_guarded_table_takes_what_could_be_equal() -> None:
    table = fresh(overlap="guard")
    entity(table, "One", "one", "f'user#{id}', 'x'")
    entity(table, "Other", "other", "f'user#{id}', 'x'")
    with pytest.raises(DeclarationError, match="both of type 'one'"):
        entity(table, "Third", "one", "f'third#{id}', 'x'")


def test_a_class_declared_again_replaces_itself() -> None:
    table = fresh()
    entity(table, "One", "one", "f'user#{id}', 'x'")
    again = entity(table, "One", "one", "f'user#{id}', 'y'")
    assert [m.kind for m in table.models] == [again]


def test_a_class_needs_a_table_and_one_key() -> None:
    table = fresh()
    with pytest.raises(DeclarationError, match="a type and no table"):

        class NoTable(Entity, type="x"):
            id: str

    with pytest.raises(DeclarationError, match=r"0 functions under @table\.key"):

        class NoKey(Entity, table=table, type="x"):
            id: str

    with pytest.raises(DeclarationError, match=r"2 functions under @table\.key"):

        class TwoKeys(Entity, table=table, type="x"):
            id: str

            @table.key
            @staticmethod
            def one(id: str) -> Key:
                return f"a#{id}", "x"

            @table.key
            @staticmethod
            def two(id: str) -> Key:
                return f"b#{id}", "x"


def test_one_index_holds_an_item_once_and_must_exist() -> None:
    table = fresh()
    with pytest.raises(DeclarationError, match="has no index 'gsi9'; it has gsi1, gsi2") as refused:
        table.index("gsi9")
    assert refused.value.hint == 'Add it: Table(..., indexes=["gsi9"]).'
    with pytest.raises(DeclarationError, match="is in gsi1 already"):

        class Twice(Entity, table=table, type="x"):
            id: str

            @table.key
            @staticmethod
            def by(id: str) -> Key:
                return f"a#{id}", "x"

            @table.index("gsi1")
            @staticmethod
            def one(id: str) -> Key:
                return f"a#{id}", "x"

            @table.index("gsi1")
            @staticmethod
            def two(id: str) -> Key:
                return f"b#{id}", "x"


def test_staticmethod_stands_below() -> None:
    table = fresh()
    with pytest.raises(DeclarationError, match="Put it below"):

        class Upside(Entity, table=table, type="x"):
            id: str

            @staticmethod
            @table.key
            def by(id: str) -> Key:
                return f"a#{id}", "x"


@pytest.mark.parametrize("stored", ["pk", "sk", "_type", "_v", "_w", "gsi1pk", "gsi2sk"])
def test_a_stored_name_that_is_taken_is_refused(stored: str) -> None:
    table = fresh()

    with pytest.raises(DeclarationError, match=rf"Taken\.other is stored as '{stored}', a name in use.*field\(name"):

        class Taken(Entity, table=table, type="x"):
            id: str
            other: str = field(name=stored, default="")

            @table.key
            @staticmethod
            def by(id: str) -> Key:
                return f"a#{id}", "x"


NAMES = [*map(chr, range(0x20)), '"', "\\", "\ud800", "\udfff"]
ALLOWED = "\x20\x7f\x80\u2028'{}.\U0001f600"


@pytest.mark.parametrize("letter", NAMES, ids=ascii)
def test_a_name_that_no_answer_can_hold_is_refused(letter: str) -> None:
    table = fresh()

    @dataclass
    class Inside:
        text: str = field(name=f"a{letter}b", default="")

    with pytest.raises(DeclarationError, match=r"can't be in an attribute's name.*attribute Named\.text"):

        class Named(Entity, table=table, type="x"):
            id: str
            text: str = field(name=f"a{letter}b", default="")

            @table.key
            @staticmethod
            def by(id: str) -> Key:
                return f"a#{id}", "x"

    with pytest.raises(DeclarationError, match=r"can't be in an attribute's name.*attribute Around\.inside"):

        class Around(Entity, table=table, type="x"):
            id: str
            inside: Inside

            @table.key
            @staticmethod
            def by(id: str) -> Key:
                return f"a#{id}", "x"


def test_any_other_name_is_read_back() -> None:
    table = fresh()

    class Named(Entity, table=table, type="x"):
        id: str
        text: str = field(name=f"a{ALLOWED}", default="")

        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"a#{id}", "x"

    named = Named(id="1", text="x")
    item = read_item(encode(model_of(Named).item(named)))
    assert item[f"a{ALLOWED}"] == {"S": "x"}
    assert model_of(Named).load(item) == named


@dataclass
class Loose:
    x: "int | str"  # noqa: UP037 as text, as under `from __future__ import annotations`


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (set[str] | None, "a set attribute can't also be None"),
        (int | str, "a union of several types"),
        (dict[int, str], r"dict\[str, X\]"),
        (tuple[int, str], r"tuple\[X, \.\.\.\]"),
        (set[list[str]], "holds texts, numbers or bytes"),
        (set[bool], "holds texts, numbers or bytes"),
        (complex, "complex has no form in DynamoDB"),
        (list, r"list.*no form|says what it holds"),
        (Loose, "union"),
    ],
)
def test_a_type_without_a_form_is_refused_by_its_attribute(kind: Any, said: str) -> None:
    table = fresh()

    def body(space: dict[str, Any]) -> None:
        space["__annotations__"] = {"id": str, "other": kind}
        space["__module__"] = __name__
        space["by"] = table.key(lambda id: (f"a#{id}", "x"))

    import types

    with pytest.raises(DeclarationError, match=said) as caught:
        types.new_class("Bad", (Entity,), {"table": table, "type": "x"}, body)
    assert caught.value.attribute == "Bad.other"
    assert table.models == ()


def test_a_primary_key_is_never_none() -> None:
    made = entity(fresh(), "Bad", "x", "f'a#{maybe}', 'x'", "maybe: str", "maybe: str | None = None")
    with pytest.raises(DeclarationError, match="a primary key is always whole"):
        model_of(made).item(made(id="1", maybe="x"))


@pytest.mark.parametrize(
    ("parameter", "attribute"),
    [
        ("many: int", "many: int = field(version=True, default=0)"),
        ("ends: datetime", "ends: datetime = field(expires=True)"),
    ],
)
def test_a_primary_key_holds_nothing_that_is_read_back_otherwise(parameter: str, attribute: str) -> None:
    """A count changes with each write; a time of expiry is kept to the second."""
    name, role = parameter.partition(":")[0], attribute.partition("(")[2].partition("=")[0]
    made = entity(fresh(), "Bad", "x", f"f'a#{{{name}}}', 'x'", parameter, attribute)
    with pytest.raises(DeclarationError, match=f"{name} is {role}=True, and a primary key never changes"):
        model_of(made).item(made(id="1", **{name: 1}))


def test_upcasters_belong_to_versions_before() -> None:
    table = fresh()
    made = entity(table, "One", "one", "f'user#{id}', 'x'")
    for version in (0, 1, 5):
        with pytest.raises(DeclarationError, match="One upcaster for each version"):
            made.upcast(version)(dict)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "x"}, "not a valid table name"),
        ({"name": "table", "separator": "x"}, "separate the parts"),
        ({"name": "table", "separator": ""}, "separate the parts"),
        ({"name": "table", "key": ("a", "a")}, "has two uses"),
        ({"name": "table", "type_attribute": "pk"}, "has two uses"),
        ({"name": "table", "version_attribute": 'a"b'}, "can't be in an attribute's name"),
        ({"name": "table", "key": ("pk", "s\ud800")}, "lone surrogate"),
        ({"name": "table", "ttl_attribute": "a\\b"}, "can't be in an attribute's name"),
        ({"name": "table", "stream": "both"}, "'keys', 'new', 'old', 'new_and_old'"),
        ({"name": "table", "indexes": ["g 1"]}, "not a valid index name"),
        ({"name": "table", "indexes": [f"gsi{n}" for n in range(21)]}, "21 indexes"),
    ],
)
def test_a_table_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        Table(**options)


def test_indexes_by_name_pair_or_index() -> None:
    table = Table("table", indexes={"a_index": ("x", "y"), "b_index": Index("z", "w", "keys")})
    assert table.definition.index_keys("a_index") == ("x", "y")
    assert table.definition.index_keys("b_index") == ("z", "w")
    assert table.definition.index_keys(None) == ("pk", "sk")


def test_collections_hold_entities() -> None:
    with pytest.raises(DeclarationError, match="is declared as an entity"):

        class Wrong(Collection):
            numbers: list[int]

    with pytest.raises(DeclarationError, match=r"collect\(\) takes an access pattern"):
        collect("x")  # type: ignore[arg-type]


def test_a_condition_of_another_class_is_refused_where_it_is_used() -> None:
    table = fresh()
    one = entity(table, "One", "one", "f'one#{id}', 'x'")
    other = entity(table, "Other", "other", "f'other#{id}', 'x'", fields="price: int = 0")
    from singletable.records.flows import explain

    with pytest.raises(InvalidRequest, match=r"Other\.price is not an attribute of One"):
        explain(one.by("1").also(one).where(attr(other.price) == 1), now=0.0)
    assert Decimal(1) == 1


@pytest.mark.parametrize("option", ["personal", "unique", "expires", "version", "belongs_to", "mentions"])
def test_an_option_of_an_attribute_does_not_stand_inside_of_one(option: str) -> None:
    """It would do nothing: a personal value would be shown, a unique one be there twice."""
    table = Table("inside")
    value: Any = (lambda: None) if option in ("belongs_to", "mentions") else True

    @dataclass
    class Address:
        street: Any = field(default="", **{option: value})
        city: str = field(default="", name="c")

    with pytest.raises(DeclarationError, match=f"Address.street is declared with {option}="):

        class Person(Entity, table=table, type="person"):
            id: str
            homes: list[Address]

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"person#{id}", "person"


def test_what_a_plain_dataclass_brings_shows_and_compares_the_whole_entity() -> None:
    """A mixin for audit columns, as many programs have one: its own repr and eq know its own attributes alone."""

    @dataclass(kw_only=True)
    class Stamps:
        made: int = 1
        changed: int = 2

    @dataclass(order=True)
    class Named:
        label: str = "x"

        def __str__(self) -> str:
            return f"<{self.label}>"

    @dataclass
    class Terse:
        brief: str = "x"

        def __repr__(self) -> str:
            return "terse"

    table = fresh()

    class Stamped(Stamps, Named, Entity, table=table, type="x"):
        id: str
        secret: str = field(personal=True, default="s")

        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"a#{id}", "x"

    class Told(Stamped, table=table, type="y"):
        def __repr__(self) -> str:
            return "as I say"

        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"b#{id}", "x"

    class Derived(Told, table=table, type="z"):
        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"c#{id}", "x"

    class Brief(Terse, Entity, table=table, type="brief"):
        id: str

        @table.key
        @staticmethod
        def by(id: str) -> Key:
            return f"d#{id}", "x"

    assert repr(Brief(id="1")) == "terse"
    one, other = Stamped(id="1"), Stamped(id="2")
    assert one != other
    assert one == Stamped(id="1")
    assert {f"{name}=" in repr(one) for name in ("made", "changed", "label", "id", "secret")} == {True}
    assert "'s'" not in repr(one)
    assert str(one) == "<x>"
    assert repr(Told(id="1")) == repr(Derived(id="1")) == "as I say"


def test_a_key_says_the_id_that_it_was_made_of() -> None:
    made = entity(fresh(), "Plain", "x", "f'a#{ref}#{id}', 'x'", "ref: UUID, id: str")
    assert made.by(UUID(int=3), "a#%b").id == "a#%b"
    without = entity(fresh(), "Bare", "x", "f'a#{ref}', 'x'", "ref: UUID")
    with pytest.raises(AttributeError, match=r"Bare\.by has no id among its attributes"):
        _ = without.by(UUID(int=3)).id


def test_a_class_of_a_text_that_is_run_needs_no_module() -> None:
    """As a program has it that runs generated declarations."""
    text = """
from singletable import Entity, Key, Table
run = Table("run")
class Note(Entity, table=run, type="note"):
    name: str
    @run.key
    @staticmethod
    def of(name: str) -> Key:
        return f"note#{name}", "note"
"""
    space: dict[str, Any] = {"__name__": "a_module_that_is_not_there"}
    exec(compile(text, "text", "exec", dont_inherit=True), space)
    assert space["Note"](name="x").name == "x"
    assert model_of(space["Note"]).item(space["Note"](name="x"))["name"] == {"S": "x"}


def test_a_class_keeps_nothing_of_the_function_around_it() -> None:
    def around() -> tuple[Any, weakref.ref[Any]]:
        table, large = Table("held"), {1, 2, 3}

        class Held(Entity, table=table, type="held"):
            id: str

            @table.key
            @staticmethod
            def of(id: str) -> Key:
                return f"held#{id}", "held"

        return Held, weakref.ref(large)

    held, large = around()
    gc.collect()
    assert (held.__name__, large()) == ("Held", None)
