"""The check of a graph: what it reads, by the engine's own units; and what it finds wherever pages end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import Database
from singletable.graph import Graph
from singletable.graph.check import GraphCheck
from singletable.graph.full_scan import pages, place_of
from singletable.operations import BatchGetItem, Query, Scan, TableCall
from singletable.records import CheckOptions, CheckRound, flows
from singletable.values.sizes import item_size
from tests.graph.models import Goal, GoalMembership, Note, Role, Subgoal, User, records
from tests.oracle.planting import delete, edit
from tests.support.engines import fresh
from tests.support.raw import all_items, stored

GOALS, USERS = 60, 60


def fill(db: Database) -> None:
    """Four goals have their sets full; edges of three types, in one index or two."""
    goals, users = [Goal(id=f"g{n:02}") for n in range(GOALS)], [User(id=f"u{n:02}") for n in range(USERS)]
    edges: list[Any] = []
    for n, goal in enumerate(goals):
        for user in users if n < 4 else users[n % 7 :: 7]:
            edges.append(GoalMembership(source=goal, target=user, role=Role.TEAM))
            edges.append(Note(source=goal, target=user, tag="note"))
        edges += [Subgoal(source=goal, target=other, n=1) for other in goals[n + 1 : n + 6]]
    Graph(db).load([*goals, *users], edges)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def with_pages_of(db: Database, items: int) -> None:
    port: Any = db.port
    port.traits = replace(port.traits, scan_page_limit=items)


@pytest.mark.parametrize("items", [100, 1000])
def test_a_sound_graph_is_read_at_most_three_times(db: Database, items: int) -> None:
    """By the units that the engine tells, over several pages and types of edges in two indexes; it was predicted."""
    with_pages_of(db, items)
    with db.meter() as scanned:
        seen = db.run(read_all(db.port))
    with db.meter() as checked:
        assert db.check(records) == []
    assert seen > 1000
    tell_sizes(db)
    passes, _ = flows.check_passes(records, (), is_sample=False)
    predicted = db.run(flows.predict_check(db.port, passes, None))[records.name]
    assert 0.5 <= predicted / checked.read_units <= 1.1
    assert db.run(flows.predict_check(db.port, passes, 0.1))[records.name] == pytest.approx(predicted / 10)
    assert checked.read_units <= 3 * scanned.read_units


def spoil(db: Database) -> None:
    """Faults in partitions of 130 items and of 25, of which any may lie across pages."""
    edit(db, Goal.by_id("g00"), edges0=None, edges1=None)
    edit(db, Goal.by_id("g01"), n_NOTE={"N": "7"})
    edit(db, Note.between(Goal.by_id("g02"), User.by_id("u59")), listed={"BOOL": False})
    delete(db, GoalMembership.between(Goal.by_id("g03"), User.by_id("u00")))
    lost = ("edges0", "edges1", "n_NOTE", "n_GOALMEMBERSHIP", "n_SUBGOAL")
    edit(db, Goal.by_id("g42"), **dict.fromkeys(lost))  # alone it looks sound
    delete(db, User.by_id("u31"))
    delete(db, Goal.by_id("g40"))
    edit(db, Goal.by_id("g41"), deleting={"N": "1.0"})
    Graph(db).load([Goal(id="h")], [note := Note(source=Goal.by_id("h"), target=User.by_id("u00"), tag="t")])
    edit(db, Note.between(note.source, note.target), listed={"BOOL": False})
    edit(db, Goal.by_id("h"), edges0=None, edges1=None, n_NOTE=None)  # alone it looks sound, as its set is empty


def tell_sizes(db: Database) -> None:
    """DescribeTable tells the sizes of the table and its indexes, as AWS does and the embedded engine doesn't."""
    items = db.run(all_items(db.port, records.name))
    port: Any = db.port
    send = port.send

    async def sized(operation: Any) -> Any:
        answer = await send(operation)
        if isinstance(operation, TableCall) and operation.operation == "DescribeTable":
            answer["Table"]["TableSizeBytes"] = sum(map(item_size, items))
            for index in answer["Table"]["GlobalSecondaryIndexes"]:
                index["IndexSizeBytes"] = sum(item_size(item) for item in items if index["IndexName"] in item)
        return answer

    port.__dict__["send"] = sized


async def read_all(port: Any) -> int:
    """The number of items, by one consistent scan."""
    return sum([len(page) async for page in pages(port, records)])


def told(findings: Any) -> set[tuple[str, tuple[str, str], str]]:
    return {(each.code, each.key, each.what) for each in findings}


@pytest.fixture(scope="module")
def spoiled() -> Iterator[Database]:
    """A graph with faults, for tests that only read it."""
    with fresh() as made:
        fill(made)
        spoil(made)
        yield made


@pytest.fixture(scope="module")
def faults(spoiled: Database) -> set[tuple[str, tuple[str, str], str]]:
    """The findings for each item alone: nothing is left to a page or a later pass."""
    check = GraphCheck(records)

    async def alone(port: Any) -> list[Any]:
        return [f async for page in pages(port, records) for item in page for f in await check.findings(port, [item])]

    found = told(spoiled.run(alone(spoiled.port)))
    assert {code for code, *_ in found} == {
        "edge-set.wrong",
        "edge-set.count",
        "edge-set.incomplete",
        "edge.orphan",
        "node.deleting",
    }
    return found


@pytest.mark.parametrize("items", [*(pytest.param(few, marks=pytest.mark.soak) for few in (1, 7)), 40, 1000])
def test_the_same_is_found_wherever_pages_end(spoiled: Database, faults: Any, items: int) -> None:
    with_pages_of(spoiled, items)
    found = spoiled.check(records)
    assert told(found) == faults
    assert len(found) == len(faults)  # each once, however many pages have a part of it


def test_a_check_that_another_process_ends_finds_the_same(spoiled: Database, faults: Any) -> None:
    """What a process has noted is gone with it: the next one reads the nodes again."""
    with_pages_of(spoiled, 100)
    rounds: list[CheckRound] = []

    class Killed(Exception):
        pass

    def until(most: int) -> Any:
        def note(made: CheckRound) -> None:
            rounds.append(made)
            if len(rounds) == most:
                raise Killed

        return note

    def run(note: Any, state: Any) -> None:
        passes, _ = flows.check_passes(records, (), is_sample=False)
        spoiled.run(flows.run_check(spoiled.port, passes, CheckOptions(1), note, state, repairs=None))

    with pytest.raises(Killed):
        run(until(18), None)  # the edges lie before it, their targets behind it
    run(rounds.append, rounds[-1].state)
    assert told(f for made in rounds for f in made.findings) == faults


@pytest.mark.parametrize("items", [pytest.param(40, marks=pytest.mark.soak), 1000])
def test_a_repair_deletes_edges_whose_target_is_gone(db: Database, items: int) -> None:
    """What no page tells but only the end of all of them, `check --repair` mends too; and lists before."""
    with_pages_of(db, items)
    for gone in (User.by_id("u03"), User.by_id("u11")):
        delete(db, gone)
    found = {(each.code, each.key) for each in db.check(records)}
    assert {code for code, _ in found} == {"edge.orphan"}
    assert repaired(db, "list") == {(*each, "mendable") for each in found}
    assert repaired(db, "mend") == {(*each, "mended") for each in found}
    assert db.check(records) == []


def repaired(db: Database, mode: Any) -> set[Any]:
    """The findings of a run with repairs, each with what became of it. What is left of them is counted; the numbers of
    rows and items, which the repairs of the same run change, are left aside."""
    passes, _ = flows.check_passes(records, (), is_sample=False)
    done: list[Any] = []
    state = db.run(
        flows.run_check(
            db.port, passes, CheckOptions(1), lambda made: done.extend(made.repaired or ()), None, repairs=mode
        )
    )
    assert state.left == sum(each.outcome != "mended" for each in done)
    return {(each.finding.code, each.finding.key, each.outcome) for each in done if each.finding.code != "edge.index"}


def test_a_sample_tells_of_targets_too(spoiled: Database, faults: Any) -> None:
    with_pages_of(spoiled, 1000)
    found = told(spoiled.check(records, sample=0.5))
    assert any(code == "edge.orphan" for code, *_ in found)
    assert found <= faults


STALE: dict[str, tuple[dict[str, Any], bool]] = {
    "a value": ({"tag": {"S": "before"}}, False),
    "a value, until it is read again": ({"tag": {"S": "before"}}, True),
    "its place": ({"gsi0": {"S": "before"}}, False),
}


@pytest.mark.parametrize("what", STALE)
def test_a_stale_row_is_told_though_the_numbers_agree(db: Database, what: str) -> None:
    """Rows are compared with their items where sums disagree, here two of 64, and told if they stay so."""
    with_pages_of(db, 100)
    stale, catches_up = STALE[what]
    note = db.all(Note.of(Goal.by_id("g07")))[0]
    item = db.run(stored(db.port, Note.between(note.source, note.target)))
    assert item is not None
    place = place_of(item)
    compared = show_stale(db, place, stale, catches_up=catches_up)
    found = [(each.code, each.key) for each in db.check(records)]
    assert found == ([("edge.index", place)] if what == "a value" else [])
    rows = sum("gsi0" in item for item in db.run(all_items(db.port, records.name)))
    assert place in compared
    assert len(compared) <= rows * 4 / 64


def show_stale(db: Database, place: Any, stale: dict[str, Any], *, catches_up: bool) -> set[Any]:
    """Scans of gsi0 show one row as it was, queries do unless it catches up. What is read after the first such scan."""
    port: Any = db.port
    send, send_all = port.send, port.send_all
    asked = Scan if catches_up else (Scan, Query)
    begun: list[bool] = []
    read: set[Any] = set()

    def shown(operation: Any, answer: Any) -> Any:
        if isinstance(operation, BatchGetItem) and begun:
            read.update(map(place_of, operation.keys))
        if not isinstance(operation, asked) or operation.selection.index != "gsi0":
            return answer
        begun.append(True)
        return replace(answer, items=[{**each, **stale} if place_of(each) == place else each for each in answer.items])

    async def one(operation: Any) -> Any:
        return shown(operation, await send(operation))

    async def many(operations: Any) -> Any:
        return list(map(shown, operations, await send_all(operations)))

    port.__dict__ |= {"send": one, "send_all": many}
    return read
