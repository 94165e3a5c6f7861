"""Drawn tables: what adoption says without a doubt is what the program does; the rest of the items proves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from random import Random
from typing import Any

import pytest

from singletable.adopt import TableLayout, adopted
from singletable.adopt.trial import table_in, trial_of
from tests.adopt.tables import stored

WORDS = ("USER", "order", "Item", "LOG", "team", "Job")
SEPARATORS = ("#", "/", "#")
ITEMS = 90
Part = tuple[str, str, Callable[[Any], str]]
"""An attribute, its place in a key function, and how the program writes it there."""


def name(random: Random, number: int) -> str:
    return random.choice(("Ada", "Bob", "Cleo", "Dan", "Eve")) + f"{number}{random.choice('xyz')}"


def number(random: Random, number: int) -> int:
    return random.choice((1, 10, 1000)) * (number + 1) + random.randrange(9)


def moment(random: Random, number: int) -> int:
    return 1_700_000_000_000 + random.randrange(10**10)


VALUES: dict[str, Callable[[Random, int], Any]] = {"name": name, "code": name, "count": number, "madeAt": moment}
PARTS: tuple[Part, ...] = (
    ("name", "{name:raw}", str),
    ("code", "{code:raw}", str),
    ("code", "{code:lower}", str.lower),
    ("code", "{code:upper}", str.upper),
    ("count", "{count:raw}", str),
    ("count", "{count:08}", lambda value: f"{value:08}"),
    ("madeAt", "{made_at:ms}", str),
    ("madeAt", "{made_at:%Y-%m-%d}", lambda at: f"{datetime.fromtimestamp(at / 1000, timezone.utc):%Y-%m-%d}"),
)


def drawn(random: Random) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The items of a table of a few kinds, and the line of each kind's key function."""
    separator = random.choice(SEPARATORS)
    items: list[dict[str, Any]] = []
    truth: dict[str, str] = {}
    for word in random.sample(WORDS, 3):
        partition, sort = random.sample(PARTS, 1), random.sample(PARTS, random.choice((1, 2)))
        shown = [separator.join([word, *(part[1] for part in some)]) for some in (partition, sort)]
        truth[word] = f'return f"{shown[0]}", f"{shown[1]}"'
        for count in range(ITEMS):
            values = {attribute: make(random, count) for attribute, make in VALUES.items()}
            texts = [text_of(word, separator, some, values) for some in (partition, sort)]
            items.append({"PK": texts[0], "SK": texts[1], **values, f"only{word}": count % 3})
    return items, truth


def text_of(word: str, separator: str, parts: Sequence[Part], values: dict[str, Any]) -> str:
    return separator.join([word, *(write(values[attribute]) for attribute, _, write in parts)])


def check(seed: int) -> None:
    items, truth = drawn(Random(seed))
    wire = [stored(**item) for item in {(item["PK"], item["SK"]): item for item in items}.values()]
    outcome = adopted(wire[::3], TableLayout("drawn", ("PK", "SK")))
    assert outcome.unexplained == []
    sure = [kind for kind in outcome.kinds if not [*kind.doubts]]
    for kind in sure:
        line = next(each for word, each in truth.items() if f"only{word}" in {column.stored for column in kind.columns})
        assert f"        {line}\n" in outcome.source, seed
    table = table_in(outcome.source, "drawn")
    trials = [trial_of(table, item) for item in wire]
    assert [trial for trial in trials if not trial.is_exact and trial.type in {kind.type for kind in sure}] == []


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_table_is_read_as_its_program_writes_it(seed: int) -> None:
    check(seed)


@pytest.mark.soak
def test_many_drawn_tables_are_read_as_their_programs_write_them() -> None:
    for seed in range(4, 120):
        check(seed)
