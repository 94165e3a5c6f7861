"""The forms of types: what the record of a table says of them."""

from __future__ import annotations

from dataclasses import dataclass, field as plain_field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest

from singletable.schema.key_text import Slot
from singletable.values import KeyType, ValuePlan, json_form, make_field, plan_for


class State(Enum):
    OPEN = "open"
    SENT = "sent"

    def key_text(self) -> str:
        return self.value[0]


@dataclass
class Leaf:
    text: str = ""


@dataclass
class Tree:
    leaf: Leaf
    trees: list[Tree] = plain_field(default_factory=list["Tree"])
    other: Branch | None = None


@dataclass
class Branch:
    tree: Tree


LEAF = {"form": {"object": {"text": {"form": "S text", "default": {"S": ""}}}}}


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (str, "S text"),
        (int, "N integer"),
        (Decimal, "N decimal"),
        (datetime, "S instant dddd-dd-ddTdd:dd:dd.ddddddZ"),
        (date, "S day dddd-dd-dd"),
        (time, "S formatted dd:dd:dd.dddddd"),
        (State, {"of": "S text", "values": {"OPEN": "open", "SENT": "sent"}}),
        (Literal[1, 2], {"of": "N integer", "values": {"1": "1", "2": "2"}}),
        (frozenset[int], {"set": "N integer"}),
        (tuple[str, ...], {"list": "S text"}),
        (dict[str, UUID | None], {"map": {"or null": "S uuid xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"}}),
        (Any, "any"),
        (
            Tree,
            {
                "object": {
                    "leaf": LEAF,
                    "trees": {"form": {"list": "^1"}, "default": {"L": []}},
                    "other": {"form": {"object": {"tree": {"form": "^2"}}}, "optional": True},
                }
            },
        ),
    ],
)
def test_a_type_says_its_form(kind: Any, form: Any) -> None:
    assert plan_for(kind).form == form


@pytest.mark.parametrize(
    ("kind", "asked", "form"),
    [
        (str, "", "text"),
        (str, "rest", "rest"),
        (int, "", "number"),
        (int, "06", "digits 6"),
        (Decimal, "", "decimal"),
        (date, "", "fixed dddd-dd-dd"),
        (State, "", 'enum {"OPEN":"o","SENT":"s"}'),
    ],
)
def test_a_key_type_says_its_form(kind: Any, asked: str, form: str) -> None:
    assert Slot.of("n", kind, asked).key_type.form == form


def test_a_default_that_a_function_makes_is_not_made() -> None:
    called: list[int] = []

    def empty() -> list[str]:
        called.append(1)
        return []

    declared: Any = plain_field(default_factory=empty)
    assert make_field("tags", list[str], declared).form["default"] == "made"
    assert called == []


def test_what_has_no_form_is_incomplete() -> None:
    with pytest.raises(TypeError, match="a plan has a wire type, read, write, load and form"):
        _ = ValuePlan().form
    with pytest.raises(NotImplementedError, match="KeyType has no word"):
        _ = KeyType(str).form


def test_the_form_of_json_has_no_words_for_people() -> None:
    @dataclass
    class Note:
        """What is noted."""

        title: str
        description: str = ""

    form = json_form(Note, "Held")
    assert {*form["properties"]} == {"title", "description"}
    assert not {"title", "description"} & form.keys()
    assert json_form(Tree, "Held")["$ref"] == "#/$defs/Tree"
