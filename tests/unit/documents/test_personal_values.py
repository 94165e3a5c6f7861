"""Values from which an erasure takes what is personal: each keeps its type, or is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest

from singletable import Entity, Key, Table, field
from singletable.documents import Document
from singletable.documents.blobs import NoBlobs
from singletable.documents.canonical_json import JsonCodec
from singletable.documents.context import Context
from singletable.documents.erased_arguments import scalars_without
from singletable.documents.personal import Erased, names_of
from singletable.errors import DeclarationError
from singletable.foundation import CursorSeal, Subject

NOBODY = Erased(())
app = Table("personal-values", indexes=["gsi1"])


class Mood(StrEnum):
    GOOD = "good"


@dataclass(frozen=True)
class Said:
    text: str = field(personal=True)


class Pair(NamedTuple):
    one: Said
    other: int


@dataclass(frozen=True)
class Choice:
    mood: Mood = field(personal=True)


@dataclass(frozen=True)
class Word:
    word: Literal["yes", "no"] = field(personal=True)


@dataclass(frozen=True)
class Short:
    text: Annotated[str, msgspec.Meta(max_length=3)] = field(personal=True)


@dataclass(frozen=True)
class Code:
    text: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")] = field(personal=True)


@dataclass(frozen=True)
class Place:
    point: tuple[float, float] = field(personal=True)


@dataclass(frozen=True)
class Several:
    texts: list[str] = field(personal=True)
    pair: dict[str, int] = field(personal=True)
    data: bytes = field(personal=True)


@dataclass(frozen=True)
class Some:
    texts: Annotated[list[str], msgspec.Meta(min_length=1)] = field(personal=True)


@dataclass(frozen=True)
class Maybe:
    mood: Mood | None = field(personal=True)
    text: str | int = field(personal=True)


class Person(Entity, table=app, type="person"):
    id: str

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One."""
        return f"person#{id}", "person"


class Diary(Document, table=app, principal=Person.id):
    owner: str = field(mentions=Person.id)
    mood: Mood = field(personal=True)


class Letter(Document, table=app, principal=Person.id):
    owner: str = field(mentions=Person.id)
    text: str = field(personal=True)


@pytest.mark.parametrize(
    ("value", "after"),
    [
        (Pair(Said("ada"), 1), Pair(Said("(erased)"), 1)),
        ([Said("ada")], [Said("(erased)")]),
        ({"a": (Said("ada"),)}, {"a": (Said("(erased)"),)}),
        (Maybe(Mood.GOOD, "ada"), Maybe(None, "(erased)")),
        (Several(["ada"], {"ada": 1}, b"ada"), Several([], {}, b"")),
    ],
)
def test_what_is_left_is_of_its_type(value: Any, after: Any) -> None:
    left = NOBODY.taken_out(value, own=True)
    assert left == after
    assert type(left) is type(after)


@pytest.mark.parametrize(
    "value", [Choice(Mood.GOOD), Word("yes"), Short("ada"), Code("ada"), Place((1.0, 2.0)), Some(["ada"])]
)
def test_what_cant_say_nothing_is_refused_by_name(value: Any) -> None:
    with pytest.raises(
        DeclarationError, match=rf"{type(value).__name__}\.\w+ is personal .* no value that says nothing"
    ):
        JsonCodec[Any](type(value), "").encode(NOBODY.taken_out(value, own=True))


def test_scalars_that_cant_say_nothing_are_refused_by_name() -> None:
    ada = Erased([Subject(Person, {"id": "ada"}, ("person#ada", "person"))])

    def left(kind: type[Document]) -> Any:
        stored = {"owner": {"S": "ada"}, "mood": {"S": "good"}, "text": {"S": "Ada's"}}
        return scalars_without(Context(kind, NoBlobs(), CursorSeal(())), ada, stored)

    assert (left(Letter)["owner"], left(Letter)["text"]) == ({"S": "(erased)"}, {"S": "(erased)"})
    with pytest.raises(DeclarationError, match=r"^Diary\.mood is personal .*, and has no value that"):
        left(Diary)


class Poem(Document, table=app, principal=Person.id):
    owner: str | None = field(default=None, mentions=Person.id)
    mood: Mood | None = field(default=None, personal=True)
    text: str = field(default="", personal=True)
    lines: int = field(default=0, personal=True)


def test_scalars_of_a_type_that_the_class_has_no_more_go_as_well() -> None:
    ada = Erased([Subject(Person, {"id": "ada"}, ("person#ada", "person"))])
    context = Context(Poem, NoBlobs(), CursorSeal(()))
    stored = {"owner": {"S": "bob"}, "mood": {"S": "gone"}, "text": {"N": "1"}, "lines": {"S": "three"}}
    assert scalars_without(context, ada, stored) is stored
    assert scalars_without(context, ada, {**stored, "owner": {"S": "ada"}}) == {"text": {"S": ""}, "lines": {"N": "0"}}
    ada.texts.add("three")
    assert scalars_without(context, ada, stored) == {**stored, "lines": {"N": "0"}}


def test_a_part_that_belongs_to_somebody_is_refused_by_name() -> None:
    with pytest.raises(DeclarationError, match="owner is a part of a document, and can't be belongs_to=") as refused:
        names_of([("title", {"personal": True}), ("owner", {"belongs_to": Person.id})])
    assert refused.value.attribute == "owner"
