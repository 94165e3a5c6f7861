"""What tasks cost, by the service's own account: requests, units, and index units over a task's life."""

from __future__ import annotations

from singletable import Meter
from tests.tasks.bench import Bench, noting, seconds


async def test_a_look_is_one_round_trip_and_four_units(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(100), note("later")))
    with Meter() as meter:
        await bench.drain()
    assert (meter.requests, meter.round_trips, meter.read_units) == (8, 1, 4.0)
    assert meter.write_units == 0


async def test_a_task_costs_four_index_units_in_its_life(bench: Bench) -> None:
    note = noting(bench)
    with Meter() as scheduled:
        await bench.add(bench.tasks.after(seconds(0), note("a")))
    with Meter() as run:
        await bench.drain()
    # In a transaction the table's own unit counts twice, the index's once.
    assert scheduled.by_operation["TransactWriteItems"].write_units == 2 + 1
    assert run.by_operation["UpdateItem"].requests == 1
    assert run.by_operation["UpdateItem"].write_units == 1 + 2
    assert run.by_operation["DeleteItem"].write_units == 1 + 1
    assert set(run.by_operation) == {"Query", "UpdateItem", "DeleteItem", "GetItem"}
    assert (run.by_operation["GetItem"].requests, run.by_operation["GetItem"].read_units) == (1, 1.0)  # its hold


async def test_an_end_within_a_transaction_is_no_request_of_its_own(bench: Bench) -> None:
    @bench.task
    async def count() -> None:
        async with bench.shell.transaction() as tx:
            tx.update(*bench.plus("a"))
            tx.add(bench.tasks.done())

    await bench.shell.create(bench.counter(id="a"))
    await bench.add(bench.tasks.after(seconds(0), count()))
    with Meter() as meter:
        await bench.drain()
    assert meter.by_operation["TransactWriteItems"].requests == 1
    assert meter.by_operation["TransactWriteItems"].write_units == 2 + (2 + 1)
    assert "DeleteItem" not in meter.by_operation


async def test_a_cancel_is_one_item(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("a"), key="k"))
    with Meter() as meter:
        await bench.add(bench.tasks.cancel("k"))
    assert (meter.requests, meter.write_units) == (1, 2 + 1)


async def test_an_ordered_task_costs_a_read_of_its_lane_and_two_transactions(bench: Bench) -> None:
    note = noting(bench)
    with Meter() as scheduled:
        await bench.add(bench.tasks.after(seconds(0), note("a"), order="o"))
    with Meter() as run:
        await bench.drain()
    assert scheduled.write_units == 2 + (2 + 1)
    assert run.by_operation["TransactWriteItems"].requests == 2
    # Claimed: the turn, its lane, a look at its name. Ended: the same three.
    assert run.by_operation["TransactWriteItems"].write_units == (2 + 2) + 2 + 2 + (2 + 1) + 2 + 2
    consistent = run.by_operation["Query"].read_units - 2 * 4.0
    assert consistent == 2.0  # the lane before, and the lane after
