"""The budget fixture and marker fail exactly the tests that take more than they say."""

from __future__ import annotations

import os

import pytest

from singletable_local import ENGINE_VARIABLE, find_engine

ENGINE = find_engine(os.environ)
pytest_plugins = ["pytester"]

SUITE = """
import pytest
from singletable import ANY, Entity, Key, Table, connect, connect_async

app = Table("app")

class Note(Entity, table=app, type="note"):
    id: str
    @app.key
    @staticmethod
    def by_id(id: str = ANY) -> Key:
        return "notes", f"{id}"

@pytest.fixture
def db():
    with connect("local") as db:
        db.put(Note(id="1"))
        yield db

def test_within(db, budget):
    with budget(round_trips=1, read_units=0.5) as meter:
        db.get(Note.by_id("1"))
    assert meter.requests == 1

def test_over(db, budget):
    with budget(round_trips=1):
        db.get(Note.by_id("1"))
        db.get(Note.by_id("1"))

@pytest.mark.budget(read_units=0.5)
def test_marked_over(db):
    db.get(Note.by_id("1").consistent())

@pytest.mark.budget(requests=1)
def test_marked_within(db):
    assert db.get(Note.by_id("1"))

@pytest.mark.asyncio
@pytest.mark.budget(round_trips=1)
async def test_awaited_over(db):
    async with connect_async(db.target.endpoint.url) as adb:
        await adb.get(Note.by_id("1"))
        await adb.get(Note.by_id("1"))

def test_without_a_block(db, budget):
    budget(round_trips=1)
    db.get(Note.by_id("1"))
    db.get(Note.by_id("1"))

def test_unknown_limit(budget):
    with budget(roundtrips=1):
        raise RuntimeError("not reached")
"""


@pytest.mark.embedded("the tests within are a user's, on the engine of a user")
def test_a_test_fails_when_it_takes_more_than_it_says(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, str(ENGINE))
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 3
    assert outcomes["failed"] == 4
    assert outcomes["errors"] == 1
    result.stdout.fnmatch_lines(
        [
            "*without a `with` block, and limited nothing*",
            "*over budget: 2 round trips, 1 allowed. Sent: GetItem 2 (1 read, 0 write units)*",
            "*over budget: 1 read units, 0.5 allowed*",
            "*a budget has one or more of*not roundtrips*",
        ]
    )
