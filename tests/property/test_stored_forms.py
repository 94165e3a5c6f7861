"""The record of a model has all that decides what is stored and read: what is stored otherwise has another record."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from singletable import Table
from singletable.documents import Document, Items
from singletable.migrations.model_document import ModelDocument, document_of
from singletable.tasks import Tasks
from tests.property.declarations import OPTIONS, changed, declared, observed
from tests.property.examples import times

Changes = tuple[tuple[str, int], ...]
SINGLE = [(name, number) for name, values in OPTIONS.items() for number in range(1, len(values))]


@cache
def seen(changes: Changes) -> Any:
    return observed(changed(*changes))


@cache
def recorded(changes: Changes) -> Any:
    """The tree of a record, without the names of Python's types."""
    tree = msgspec.to_builtins(document_of(declared(changed(*changes))[0]))
    for form in tree["entities"].values():
        del form["attributes"]
    return tree


def same(one: Changes, other: Changes) -> bool:
    """Whether two declarations have the same record, though they store or read something else."""
    return bool(recorded(one) == recorded(other) and seen(one) != seen(other))


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_stored_otherwise_has_another_record(name: str) -> None:
    values: list[Changes] = [((name, number),) for number in range(len(OPTIONS[name]))]
    for one, other in combinations(values, 2):
        assert not same(one, other), (one, other)
    assert len({str(seen(each)) for each in values}) > 1, "no value of the option is seen"


@times(2)
@given(st.lists(st.sampled_from(SINGLE), max_size=3), st.lists(st.sampled_from(SINGLE), max_size=3))
def test_several_at_once(one: list[Any], other: list[Any]) -> None:
    assert not same(tuple(one), tuple(other))


def without(tree: Any, path: str) -> Any:
    """A tree without a fact, and without all that is below it."""
    first, _, rest = path.partition("/")
    if not isinstance(tree, dict):
        return tree
    if not rest:
        return {name: each for name, each in tree.items() if name != first}
    return {name: without(each, rest) if first in ("*", name) else each for name, each in tree.items()}


FACTS = [
    "indexes/*/key",
    "names/separator",
    "names/type",
    "names/version",
    "entities/*/version",
    "entities/*/key",
    "entities/*/indexes",
    "entities/*/slots/key",
    "entities/*/slots/index gsi1",
    "entities/*/stored/*/form",
    "entities/*/stored/*/optional",
    "entities/*/stored/*/default",
    "entities/*/stored/*/role",
]


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_the_record_lacks_is_found(fact: str) -> None:
    """Each fact is needed: without it, two declarations that store something else have the same record."""
    bases: list[Changes] = [(), (("mail", 1),), (("key", 5), ("gsi1", 4))]
    pairs = [((*base, one), (*base, other)) for base in bases for one, other in _alternatives()]
    assert any(
        without(recorded(one), fact) == without(recorded(other), fact) and seen(one) != seen(other)
        for one, other in pairs
    )


def _alternatives() -> list[Any]:
    return [((n, a), (n, b)) for n, values in OPTIONS.items() for a, b in combinations(range(len(values)), 2)]


def test_layers_are_in_it() -> None:
    """A document's scalars and contents, the arguments of its mutations and of tasks."""

    def record(kind: Any, content: Any, argument: Any) -> ModelDocument:
        table = Table("boards", indexes=["gsi1"])
        tasks = Tasks(table, index="gsi1")

        def remind(user: Any, times: Any = None) -> None: ...

        remind.__annotations__["times"] = argument
        tasks.task(remind)
        annotations = {"title": kind, "notes": Items[content]}
        namespace = {"__annotations__": annotations, "__module__": __name__, "title": None}
        board: Any = type("Board", (Document,), namespace, table=table, index="gsi1")

        def rename(draft: Any, *, title: Any) -> None: ...

        rename.__annotations__["title"] = argument
        board.mutation(rename)
        made = document_of(table)
        assert made.layers is not None
        assert {*made.layers} == {"tasks", "documents"}
        return made

    base = record(str | None, str, int)
    assert record(str | None, str, int) == base
    for other in (record(int | None, str, int), record(str | None, int, int), record(str | None, str, str)):
        assert other.layers != base.layers
