"""Key functions that can't hold are refused when the class is made, with what to write instead."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, InvalidValue, Key, Table, at_least, before
from singletable.errors import DeclarationError
from singletable.schema.models import model_of


class Spaced(Enum):
    NEW = "new"
    NEW_YORK = "new york"


class Percent(Enum):
    HALF = "50%"
    ALL = "all"


class Same(Enum):
    A = "x"
    B = "y"

    def key_text(self) -> str:
        return "same"


def declare(parameters: str, body: str, separator: str = "#", **names: Any) -> type[Entity]:
    """A class with a key function of these parameters and this return statement."""
    source = f"""
class Bad(Entity, table=table, type="bad"):
    id: str
    name: str
    age: int
    tags: list[str]
    n: float
    flag: bool
    maybe: str | None
    late: "Nowhere"
    spaced: Spaced
    percent: Percent
    same: Same

    @table.key
    @staticmethod
    def by({parameters}) -> Key:
        return {body}
"""
    space: dict[str, Any] = {
        "table": Table("table", separator=separator, indexes=["gsi1"]),
        "Entity": Entity,
        "Key": Key,
        "ANY": ANY,
        "Spaced": Spaced,
        "Percent": Percent,
        "Same": Same,
        "__name__": __name__,
        **names,
    }
    exec(source, space)
    made: type[Entity] = space["Bad"]
    return made


@pytest.mark.parametrize(
    ("parameters", "body", "said"),
    [
        ("nope: str", "f'user#{nope}', 'x'", "parameter 'nope' is not an attribute.*Name it after"),
        ("id: str", "f'user#{id.lower()}', 'x'", r"Bad\.by: id\.lower can't be part of a key function.*Write \{id\}"),
        ("id: str, name: str", "f'user#{id}{name}', 'x'", r"'user#\{id\}\{name\}' a value is followed by more.*End it"),
        ("id: str, name: str", "f'{id}x{name}', 'x'", r"in '\{id\}x\{name\}' a value is followed by more text"),
        ("id: str", "f'user#{id}x', 'x'", "followed by more text"),
        ("id: str = ANY, name: str = ANY", "f'user#{id}', f'{name}'", "part of the partition key.*Remove its default"),
        ("id: str, name: str = 'x'", "f'user#{id}', f'{name}'", "name may only default to ANY"),
        ("id: str, name: str", "f'user#{id}', 'x'", "name is in no key"),
        ("tags: list", "f'user#{tags}', 'x'", "no sortable text"),
        ("n: float", "f'user#{n}', 'x'", "n is float, which has no sortable text"),
        ("flag: bool", "f'user#{flag}', 'x'", "flag is bool, which has no sortable text"),
        ("id: str", "f'user#{id!r}', 'x'", r"put \{id\} in an f-string by itself"),
        ("id: str", "f'user#{id!s:>10}', 'x'", r"without str\(\), repr\(\)"),
        ("late: str", "f'user#{late}', 'x'", "'Nowhere', the type of late, doesn't exist"),
        ("id: str", "f'user#{id:>10}', 'x'", r"not a valid format.*A str takes \{id:rest\}, \{id:raw\}"),
        ("age: int", "f'user#{age:6}', 'x'", r"not a valid format.*An int takes \{age:06\}, \{age:raw\}"),
        ("id: str", "'user#' + id, 'x'", "an operator on id can't be part"),
        ("id: str", "'user#%s' % id, 'x'", r"put \{id\} in an f-string"),
        ("id: str, age: int", "(f'user#{id}' if age > 3 else 'x'), 'x'", "an operator on age"),
        ("id: str", "(f'user#{id}' if id else 'x'), 'x'", "an operator on id"),
        ("id: str", "f'user#{id[0]}', 'x'", "an operator on id"),
        ("id: str", "f'100%#{id}', 'x'", "'100%' contains '%'"),
        ("id: str", "f'a\\n#{id}', 'x'", "control character"),
        ("id: int", "f'user#{id}', 'x'", "id is int here and str as an attribute"),
        ("id: str", "f'user#{id}'", "returns two texts"),
        ("id: str", "(f'user#{id}', 'x', 'y')", "returns two texts"),
        ("id: str", "(f'user#{id}', 3)", "returns two texts"),
        ("id: str", "f'user#{id}', ''", "a key text is empty.*literal"),
        ("age: int", "f'{age:rest}', 'x'", r"\{age:rest\} is not a valid format"),
        ("id: str, name: str", "f'{id:rest}#{name}', 'x'", "last in its key"),
        ("percent: Percent", "f'{percent}', 'x'", "'50%' of Percent holds '#' or '%'"),
        ("same: Same", "f'{same}', 'x'", "two members of Same have the same key text"),
        ("spaced: Spaced, id: str", "f'{spaced}#{id}', 'x'", "in another order than alone"),
    ],
)
def test_what_a_key_function_cannot_say(parameters: str, body: str, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        declare(parameters, body)


@pytest.mark.parametrize(
    ("parameters", "body", "arguments", "partition"),
    [
        ("id: str", "'user#{}'.format(id), 'x'", ("a",), "user#a"),
        ("id: str, name: str", "f'user#{id}#{name}', 'x'", ("a", "b c"), "user#a#b c"),
        ("id: str, name: str", "f'{id}-{name}', 'x'", ("a-b", "c#d"), "a%2Db-c%23d"),
        ("id: str", "f'pv_{id}', 'x'", ("a",), "pv_a"),
        ("age: int", "f'n#{age:06}', 'x'", (42,), "n#000042"),
        ("maybe: str", "f'm#{maybe}', 'x'", ("a",), "m#a"),
        ("id: str", "f'GOAL#{id:rest}', 'x'", ("a#b",), "GOAL#a#b"),
        ("spaced: Spaced", "f'{spaced}', 'x'", (Spaced.NEW_YORK,), "new york"),
    ],
)
def test_what_it_can_say(parameters: str, body: str, arguments: tuple[object, ...], partition: str) -> None:
    made: Any = declare(parameters, body)
    assert made.by(*arguments).partition == partition


table = Table("table", indexes=["gsi1", "gsi2"])


class Visit(Entity, table=table, type="visit"):
    person: str
    place: str
    hour: int

    @table.key
    @staticmethod
    def of_person(person: str, place: str = ANY, hour: int = ANY) -> Key:
        """The visits of a person."""
        return f"person#{person}", f"{place}#{hour:02}"


def test_a_call_is_a_value() -> None:
    assert Visit.of_person("ada") == Visit.of_person(person="ada")
    assert hash(Visit.of_person("ada", "b")) == hash(Visit.of_person("ada", "b"))
    assert Visit.of_person("ada") != Visit.of_person("ada", "b")
    assert Visit.of_person("a#b", "c d").partition == "person#a%23b"
    assert Visit.of_person("ada", "b", 7).low == "b#07"


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ((ANY,), InvalidRequest, "partition key"),
        ((before("x"),), InvalidRequest, "partition key"),
        (("ada", ANY, 3), InvalidRequest, "hour needs place before it"),
        (("ada", at_least("x"), 3), InvalidRequest, "hour needs place before it"),
        (("ada", "x", 100), InvalidValue, "does not fit its width"),
        (("ada", "x", -1), InvalidValue, "does not fit its width"),
        (("ada", 3), InvalidValue, "a str is expected, not int"),
        ((None,), InvalidValue, "a str is expected, not None"),
        ((), TypeError, "is missing the argument 'person'"),
        (("a", "b", 3, 4), TypeError, "takes 3 arguments"),
    ],
)
def test_a_call_that_names_no_keys(arguments: tuple[Any, ...], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Visit.of_person(*arguments)


def test_unknown_and_repeated_arguments() -> None:
    call: Any = Visit.of_person
    with pytest.raises(TypeError, match="'plaec'"):
        call("ada", plaec="x")
    with pytest.raises(TypeError, match="'person'"):
        call("ada", person="x")


def test_a_range_over_a_text_without_order_is_refused() -> None:
    made: Any = declare("id: str, name: str = ANY, age: int = ANY", "f'u/{id}', f'{name}/{age:02}'", separator="/")
    assert made.by("a").low == ""
    with pytest.raises(InvalidRequest, match="has no order"):
        made.by("a", at_least("x"))


class Reading(Entity, table=Table("readings", indexes=["gsi1"]), type="reading"):
    sensor: str
    at: datetime
    level: Decimal | None = None

    @Table("readings", indexes=["gsi1"]).key
    @staticmethod
    def of(sensor: str, at: datetime = ANY) -> Key:
        return f"sensor#{sensor}", f"{at}"

    @Table("readings", indexes=["gsi1"]).index("gsi1")
    @staticmethod
    def by_level(level: Decimal) -> Key:
        return f"level#{level}", "reading"


NOON, WITHOUT_ZONE = datetime(2026, 1, 31, 12, tzinfo=timezone.utc), datetime(2026, 1, 31, 12)
TOO_WIDE = Decimal(10**30)


@pytest.mark.parametrize(
    ("call", "attribute"),
    [
        (lambda: Reading.of("s", WITHOUT_ZONE), "Reading.at"),
        (lambda: Reading.of("s", at_least(WITHOUT_ZONE)), "Reading.at"),
        (lambda: Reading.by_level(TOO_WIDE), "Reading.level"),
        (lambda: model_of(Reading).place_of(Reading(sensor="s", at=WITHOUT_ZONE)), "Reading.at"),
        (lambda: model_of(Reading).place_of(Reading(sensor="\n", at=NOON)), "Reading.sensor"),
        (lambda: model_of(Reading).item(Reading(sensor="s", at=NOON, level=TOO_WIDE)), "Reading.level"),
    ],
)
def test_a_value_that_no_key_holds_is_named_with_its_class(call: Any, attribute: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        call()
    assert refused.value.attribute == attribute


def test_a_pattern_that_is_not_there_is_an_error_from_which_python_suggests_one() -> None:
    kind: Any = Reading
    with pytest.raises(AttributeError, match="has no attribute 'off'") as missing:
        kind.off
    assert (missing.value.name, missing.value.obj) == ("off", Reading)


NAMES = ("self", "given", "text", "partition", "sort", "v1", "t2", "n3", "write", "check", "query", "len", "str", "é")


@pytest.mark.parametrize("name", NAMES)
def test_an_attribute_may_have_any_name(name: str) -> None:
    """Also one that the code has which is generated from its key, or that stands for what it is called on."""
    literal = "a'{{b}}\\\"c"
    source = f"""
class Named(Entity, table=table, type="named"):
    {name}: str
    {name}_: int

    @table.key
    @staticmethod
    def by_name({name}: str, {name}_: int) -> Key:
        return f'''{literal}#{{{name}}}''', f'''{literal}#{{{name}_:06}}#z'''
"""
    names: dict[str, Any] = {"Entity": Entity, "Key": Key, "table": Table("named"), "__name__": __name__}
    exec(source, names)
    kind, values = names["Named"], {name: "x#{y}", f"{name}_": 42}
    texts = ("a'{b}\"c#x%23{y}", "a'{b}\"c#000042#z")
    for key in (kind.by_name(*values.values()), kind.by_name(**values), model_of(kind).key_of(kind(**values))):
        assert (key.partition, key.low) == texts
        assert model_of(kind).key_values(key) == values
