"""Types that JSON doesn't give back are refused by name, with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from singletable.documents.mutations import Mutator
from singletable.errors import DeclarationError
from singletable.queues import Queue
from singletable.values import json_form


@dataclass
class Circle:
    radius: int


@dataclass
class Square:
    side: int


EITHER: Any = Circle | Square


def _mutator(kind: Any, default: Any = None) -> Mutator[..., Any]:
    def change(draft: Any, shape: Any = None) -> None: ...

    change.__annotations__ = {"draft": Any, "shape": kind}
    change.__defaults__ = (default,)
    return Mutator(change, "change", "Board.change", {})


@pytest.mark.parametrize(
    ("where", "use"),
    [
        ("Board.change", lambda: _mutator(EITHER).read("{}")),
        ("Board.change", lambda: _mutator(EITHER)(shape=Circle(1))),
        ("Board.change", lambda: _mutator(EITHER).form),
        ("queue shapes", lambda: Queue("http://localhost/shapes", EITHER).body_of("{}")),
        ("Board.shapes", lambda: json_form(EITHER, "Board.shapes")),
    ],
)
def test_a_union_of_two_objects_is_refused_by_name(where: str, use: Any) -> None:
    with pytest.raises(DeclarationError, match=where) as caught:
        use()
    assert caught.value.hint


def test_a_default_that_could_be_changed_is_refused_by_name() -> None:
    with pytest.raises(DeclarationError, match=r"Board\.change: the default of shape is a collection"):
        _mutator(list[int], [1]).read("{}")
    assert _mutator(list[int], []).read("{}") == {"shape": []}
