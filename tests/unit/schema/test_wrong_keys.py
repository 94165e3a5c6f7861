"""Wrong keys of a table that exists: each has an error that says what is wrong, where, and what to write."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from types import new_class
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Table, at_least, field
from singletable.errors import SingletableError
from singletable.tables import N


def declare(table: Table, made: Callable[..., Any], name: str = "Held", **given: Any) -> Any:
    """A class whose key is what a function gives. `n` says that its id is a number."""
    kinds = {"id": int if given.pop("n", False) else str, "name": str}
    facts = {"table": table, "type": name.lower(), "ambiguous": given.pop("ambiguous", False)}
    body = {"__annotations__": kinds, "__module__": __name__, "by": table.key(staticmethod(made)), **given}
    return new_class(name, (Entity,), facts, partial(_fill, body))


def _fill(body: dict[str, Any], names: dict[str, Any]) -> None:
    names.update(body)


def two_texts(id: str) -> Any:
    return f"held#{id}", "held"


def lower(id: str) -> Any:
    return f"held#{id:lower}", "held"


def text_of_number(id: int) -> Any:
    return f"held#{id}", "held"


def digits(name: str, id: int = ANY) -> Any:
    return f"held#{name}", f"{id:raw}"


def one(id: str) -> Any:
    return f"held#{id:raw}", "held"


def other(name: str) -> Any:
    return f"held#{name:raw}", "held"


def fit_one_item() -> None:
    table = Table("old", foreign=True)
    declare(table, one)
    declare(table, other, name="Other")


WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "a sort key where the table has none": (
        lambda: declare(Table("old", key="id", foreign=True), two_texts),
        r"Held\.by: a key function returns one text for a key without a sort attribute",
        "As in: return",
    ),
    "a lossy form of what is nowhere else": (
        lambda: declare(Table("old", foreign=True), lower, ambiguous=True, id=field(in_key=True)),
        r"Held\.by: id is stored in its key only, which doesn't tell its value",
        "Store the attribute beside the key, or take a form that reads back",
    ),
    "a lossy form of a primary key": (
        lambda: declare(Table("old", foreign=True), lower),
        r"does not tell its values apart: 'Ada' and 'ADA' give one text",
        "ambiguous=True",
    ),
    "a text in a key of numbers": (
        lambda: declare(Table("old", key=(N("pk"), "sk"), foreign=True), text_of_number, n=True),
        r"Held\.by: .*pk",
        "",
    ),
    "two classes that fit one item": (fit_one_item, r"could have the same key", "literal"),
    "a range over digits without a width": (
        lambda: declare(Table("old", foreign=True), digits, n=True).by("a", at_least(9)),
        r"Held\.by: id takes no range: .*10 is before 9",
        "",
    ),
}
"""How it is declared, what the error says, and what its hint says. A range is in a call, before anything is sent.
Items that have nothing in common are refused by adopt: tests/adopt/test_adoption.py."""


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_key_is_refused_with_what_to_write(case: str) -> None:
    make, words, hint = WRONG[case]
    with pytest.raises(SingletableError, match=words) as refused:
        make()
    assert refused.value.hint, str(refused.value)
    assert re.search(hint, str(refused.value))
    assert isinstance(refused.value, InvalidRequest) or refused.value.code
