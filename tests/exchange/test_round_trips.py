"""Out and in again through each format: the same items, whatever values they have, with Unicode's corners."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from singletable import ANY, Database, Entity, Key, Table, field
from singletable.exchange import Exports, Imports
from singletable.foundation import is_same_item, model_of
from tests.exchange.models import Line, Rank, State
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.sampling import sampled

kinds = Table("kinds", indexes=["gsi1"])
KINDS = tuple(
    (format, keys) for format in ("parquet", "jsonl", "csv", "csv-escaped", "arrow") for keys in (True, False)
)


class Thing(Entity, table=kinds, type="thing"):
    """An attribute of each type."""

    id: str
    text: str
    number: int
    decimal: Decimal
    half: float
    flag: bool
    at: datetime
    day: date
    octets: bytes
    state: State
    rank: Rank
    texts: set[str] = field(default_factory=set[str])
    numbers: set[int] = field(default_factory=set[int])
    blobs: set[bytes] = field(default_factory=set[bytes])
    lists: list[str] = field(default_factory=list[str])
    nested: list[list[int | None]] = field(default_factory=list[list[int | None]])
    named: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    line: Line | None = None
    lines: list[Line] = field(default_factory=list[Line])
    free: Any = None
    maybe: str | None = None
    ends: datetime | None = field(default=None, expires=True)

    @kinds.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One thing."""
        return f"thing#{id}", "thing"

    @kinds.index("gsi1")
    @staticmethod
    def by_day(day: date, number: int = ANY) -> Key:
        """The things of a day."""
        return f"day#{day}", f"{number}"


CORNERS = [
    "",
    "\x00",
    "\ufeff",
    "\u2028",
    "\r",
    "\r\n",
    "\n",
    '"',
    '""',
    ",",
    "e\u0301",
    "\U0001f468\u200d\U0001f469",
    "\U0010ffff",
    "\ud7ff",
    "null",
    "NaN",
    "1e5",
    " ",
    "\\",
    "{",
    "true",
    "=1+1",
    "'=1",
    "'",
    "@a",
    "-1",
    "+41",
    "\t=1",
    "\uff1d1",
]
_TEXTS = st.one_of(st.sampled_from(CORNERS), st.text(max_size=12))
LONG = [Decimal("99999999999999999999.999999999999999999"), Decimal("-12345678901234567890.123456789012345678")]
"""Of all the 38 digits that a column holds, and DynamoDB."""
_NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12),
    st.sampled_from([*LONG, Decimal("0.000000000000000001"), Decimal("1E+19"), Decimal("-0.10")]),
)
_TIMES = st.one_of(
    st.datetimes(timezones=st.just(timezone.utc)),
    st.sampled_from([at.replace(tzinfo=timezone.utc) for at in (datetime.min, datetime.max)]),
)
_FREE = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | _TEXTS | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS.filter(bool), inner, max_size=3),
    max_leaves=6,
)
_LINES = st.builds(Line, _TEXTS, st.integers(-5, 5), _NUMBERS, st.none() | _TEXTS, st.frozensets(_TEXTS.filter(bool)))
_THINGS = st.builds(
    Thing,
    id=_TEXTS.filter(lambda text: len(text) > 0 and "#" not in text),
    text=_TEXTS,
    number=st.integers(-(10**15), 10**15) | st.sampled_from([2**63 - 1, -(2**63), 10**26 - 1]),
    decimal=st.one_of(_NUMBERS, st.sampled_from([Decimal("1E+30"), Decimal("1E-30"), Decimal(10**38 - 1)])),
    half=st.floats(-1e30, 1e30).map(lambda x: float(repr(x)) if abs(x) > 1e-30 else 0.0),
    flag=st.booleans(),
    at=_TIMES,
    day=st.dates(date(1, 1, 1)),
    octets=st.binary(max_size=8),
    state=st.sampled_from(State),
    rank=st.sampled_from(Rank),
    texts=st.sets(_TEXTS.filter(bool), max_size=3),
    numbers=st.sets(st.integers(-9, 10**12), max_size=3),
    blobs=st.sets(st.binary(min_size=1, max_size=4), max_size=3),
    lists=st.lists(_TEXTS, max_size=3),
    nested=st.lists(st.lists(st.none() | st.integers(-3, 3), max_size=2), max_size=2),
    named=st.dictionaries(_TEXTS.filter(bool), _NUMBERS, max_size=3),
    line=st.none() | _LINES,
    lines=st.lists(_LINES, max_size=2),
    free=_FREE,
    maybe=st.none() | _TEXTS,
    ends=st.none() | _TIMES.map(lambda at: at.replace(microsecond=0, year=max(2100, at.year))),
)


@pytest.fixture(scope="module")
def dbs() -> Any:
    with fresh() as source, fresh() as target:
        yield source, target


def _emptied(db: Database) -> None:
    db.create_table(kinds)
    db.write_many(deletes=[Thing.by_id(each.id) for each in db.scan(Thing)])


def _items(db: Database) -> dict[str, Any]:
    return {item["pk"]["S"]: item for item in db.run(all_items(db.port, "kinds"))}


@pytest.mark.parametrize(("format", "keys"), sampled(KINDS, 3))
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(things=st.lists(_THINGS, min_size=1, max_size=12, unique_by=lambda each: each.id))
def test_a_round_trip_is_the_identity(dbs: Any, format: Any, keys: bool, things: list[Thing]) -> None:
    source, target = dbs
    _emptied(source)
    _emptied(target)
    good = [each for each in things if _has_a_key(each)]
    source.write_many(puts=good)
    with TemporaryDirectory() as directory:
        Exports(source, kinds).export(directory, format=format, keys=keys, anew=True)
        done = Imports(target, kinds).run(Path(directory))
    assert done.bad_rows == ()
    before, after = _items(source), _items(target)
    assert before.keys() == after.keys()
    for name, item in before.items():
        assert is_same_item(
            {n: v for n, v in item.items() if n != "_w"}, {n: v for n, v in after[name].items() if n != "_w"}
        )


def _has_a_key(thing: Thing) -> bool:
    try:
        model_of(Thing).item(thing)
    except ValueError:
        return False
    return True
