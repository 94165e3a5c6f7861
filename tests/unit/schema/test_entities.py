"""An entity is a dataclass like any other: for its own tools, for pydantic, FastAPI and msgspec."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pydoc
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Any, ClassVar
from unittest import mock

import msgspec
import pydantic
import pytest

from singletable import ANY, Entity, Key, Table, field, key_of
from singletable.errors import DeclarationError
from singletable.schema.models import model_of

zoo = Table("zoo", indexes=["gsi1"])


class Diet(Enum):
    MEAT = "meat"
    PLANTS = "plants"


@dataclass
class Home:
    city: str


class Timestamped(Entity):
    """A mixin: an entity without a table, with a pattern for all that have it."""

    created_at: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=timezone.utc))

    @zoo.index("gsi1")
    @staticmethod
    def by_time(created_at: datetime = ANY) -> Key:
        """By the time of creation."""
        return "all", f"{created_at}"


@dataclass(kw_only=True)
class Noted:
    """A plain dataclass, mixed in."""

    note: str = "n"


class Animal(Timestamped, table=zoo, type="animal"):
    """One animal."""

    LIMIT = 3

    name: str
    legs: int = 4
    diet: Diet = Diet.PLANTS
    tags: set[str] = field(default_factory=set[str])
    home: Home | None = None
    mother: Animal | None = None
    keeper: Keeper | None = None

    @zoo.key
    @staticmethod
    def by_name(name: str) -> Key:
        """One animal by its name."""
        return f"animal#{name}", "animal"

    def is_spider(self) -> bool:
        return self.legs == 8


class Bird(Animal, table=zoo, type="bird"):
    legs: int
    wings: int = 2

    @zoo.key
    @staticmethod
    def by_name(name: str) -> Key:
        return f"bird#{name}", "bird"


class Keeper(Noted, Entity, table=zoo, type="keeper"):
    """Named by Animal above, before it was there."""

    id: str

    @zoo.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"keeper#{id}", "keeper"


class Shape(Entity, ABC):
    @abstractmethod
    def area(self) -> float: ...


class Square(Shape, table=zoo, type="square"):
    side: int

    @zoo.key
    @staticmethod
    def by_side(side: int) -> Key:
        return f"square#{side}", "square"

    def area(self) -> float:
        return float(self.side**2)


REX = Animal(name="Rex", tags={"x"}, home=Home("Bonn"), keeper=Keeper(id="k"))


def test_it_is_a_keyword_only_dataclass() -> None:
    assert dataclasses.is_dataclass(Animal)
    assert [f.name for f in dataclasses.fields(REX)][:3] == ["created_at", "name", "legs"]
    made: Any = Animal
    with pytest.raises(TypeError):
        made("Rex")
    with pytest.raises(TypeError, match="name"):
        made()
    with pytest.raises(TypeError, match="naem"):
        made(name="x", naem="y")
    assert (REX.LIMIT, REX.is_spider()) == (3, False)
    assert repr(REX).startswith("Animal(created_at=datetime")
    assert "name='Rex'" in repr(REX)


def test_replace_asdict_copy_and_pickle() -> None:
    assert dataclasses.replace(REX, legs=3).legs == 3
    assert dataclasses.asdict(REX)["home"] == {"city": "Bonn"}
    for same in (copy.copy(REX), copy.deepcopy(REX), pickle.loads(pickle.dumps(REX)), dataclasses.replace(REX)):
        assert same == REX
        assert type(same) is Animal
    assert dataclasses.replace(REX, legs=3) != REX
    assert copy.deepcopy(REX).home is not REX.home


def test_defaults_stay_with_each_object() -> None:
    one, other = Animal(name="a"), Animal(name="b")
    one.tags.add("x")
    assert other.tags == set()
    assert inspect.signature(Animal).parameters["legs"].default == 4


def test_a_subclass_may_redeclare_without_the_default() -> None:
    made: Any = Bird
    with pytest.raises(TypeError, match="legs"):
        made(name="x")
    bird = Bird(name="x", legs=2)
    assert (bird.wings, bird.diet) == (2, Diet.PLANTS)
    assert Bird.by_name("x").partition == "bird#x"
    assert Bird.by_time().kinds == (Bird,)
    assert model_of(Bird).item(bird)["wings"] == {"N": "2"}


def test_a_mixin_brings_attributes_and_patterns_and_is_no_entity_of_a_table() -> None:
    assert Animal.by_time().shown == "Animal.by_time all / {created_at}"
    with pytest.raises(DeclarationError, match="is a mixin"):
        Timestamped.by_time()
    with pytest.raises(DeclarationError, match="not an entity with a table"):
        key_of(Timestamped())


def test_a_plain_dataclass_mixed_in() -> None:
    keeper = Keeper(id="1")
    assert (keeper.note, keeper.id) == ("n", "1")
    assert str(Keeper.note) == "Keeper.note"
    assert model_of(Keeper).load(model_of(Keeper).item(keeper)) == keeper


def test_an_abstract_entity() -> None:
    made: Any = Shape
    with pytest.raises(TypeError, match="abstract"):
        made()
    assert Square(side=3).area() == 9.0


def test_itself_and_later_classes_nest() -> None:
    puppy = Animal(name="p", mother=REX)
    model = model_of(Animal)
    item = msgspec.json.decode(msgspec.json.encode(model.item(puppy)))
    assert model.load(item) == puppy


def test_a_class_made_in_a_function_finds_the_names_around_it() -> None:
    local = Table("local")

    class Colour(Enum):
        RED = 1

    class Thing(Entity, table=local, type="thing"):
        colour: Colour
        inner: Inner | None = None  # noqa: F821 there once, and gone

        @local.key
        @staticmethod
        def by_colour(colour: Colour) -> Key:
            return f"c#{colour}", "x"

    assert Thing.by_colour(Colour.RED).partition == "c#a1"
    with pytest.raises(DeclarationError, match=r"'Inner \| None', the type of Thing\.inner, can't be found"):
        model_of(Thing).item(Thing(colour=Colour.RED))


class Inner:
    """Not a dataclass."""


del Inner


def test_tools_of_python_can_look_at_it() -> None:
    assert {"legs", "created_at", "by_name"} <= set(dir(Animal))
    inspect.getmembers(Animal)
    mock.create_autospec(Animal)
    text = pydoc.render_doc(Animal)
    assert "One animal by its name." in text
    assert inspect.getdoc(Animal.by_name) == "One animal by its name."
    assert Animal.by_name.__name__ == "by_name"
    assert "name" in inspect.signature(Animal.by_name).parameters
    assert "KeyOf[Animal]" in repr(Animal.by_name)


def test_pydantic_reads_and_writes_it() -> None:
    adapter = pydantic.TypeAdapter(Animal)
    read = adapter.validate_python({"name": "Rex", "legs": "4", "diet": "meat", "home": {"city": "Bonn"}})
    assert type(read) is Animal
    assert (read.legs, read.diet, read.home, read.tags) == (4, Diet.MEAT, Home("Bonn"), set())
    assert adapter.validate_json(adapter.dump_json(read)) == read
    with pytest.raises(pydantic.ValidationError):
        adapter.validate_python({"legs": 4})
    properties = adapter.json_schema()["$defs"]["Animal"]["properties"]
    assert properties["legs"]["default"] == 4
    assert "default" not in properties["name"]


async def test_fastapi_accepts_and_returns_it() -> None:
    fastapi = pytest.importorskip("fastapi")
    httpx = pytest.importorskip("httpx")
    api = fastapi.FastAPI()

    def add(keeper: Any) -> Any:
        return dataclasses.replace(keeper, note="added")

    add.__annotations__ = {"keeper": Keeper, "return": Keeper}
    api.post("/keepers")(add)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=api), base_url="http://test") as client:
        assert (await client.post("/keepers", json={"id": "1"})).json() == {"id": "1", "note": "added"}
        assert (await client.post("/keepers", json={"note": "x"})).status_code == 422
        assert "Keeper" in str((await client.get("/openapi.json")).json()["components"]["schemas"])


def test_msgspec_reads_and_writes_it() -> None:
    assert msgspec.json.decode(msgspec.json.encode(REX), type=Animal) == REX


def test_a_variable_of_the_class_is_no_attribute() -> None:
    forest = Table("forest")

    class Lynx(Entity, table=forest):
        name: str
        most: ClassVar[int]

        @forest.key
        @staticmethod
        def by_name(name: str) -> Key:
            """A lynx."""
            return f"lynx#{name}", "lynx"

    assert [each.name for each in dataclasses.fields(Lynx)] == ["name"]
    assert "most" not in vars(Lynx)
