"""The page "At 10^9 items" multiplies what a command takes of an item: the kept figures are today's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import at_scale
from benchmarks.commands import COMMANDS, Taken, taken_by
from benchmarks.report import RESULTS

QUICK = ("apply", "check")
FEW, MORE = 100, 400


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / "at_scale.json").read_text())
    return found


@pytest.mark.embedded("its meter counts as AWS does")
@pytest.mark.parametrize(
    "command", [each if each in QUICK else pytest.param(each, marks=pytest.mark.soak) for each in COMMANDS]
)
def test_an_item_takes_the_units_that_the_page_multiplies(command: str, kept: dict[str, Any]) -> None:
    fewer, taken = (taken_by(command, items, kept["bytes"]) for items in (FEW, FEW + MORE))
    each, told = taken.each_more(fewer, MORE), Taken(**kept["each"][command])
    assert each.read_units == pytest.approx(told.read_units, abs=0.02)
    assert each.write_units == pytest.approx(told.write_units, abs=0.03)


def test_time_is_bound_by_the_work_of_each_worker_and_by_the_table() -> None:
    waits = Taken(pages=0.001, others=0.0, read_units=0.25, write_units=0.0, cpu_seconds=0.0)
    one, four, many = (at_scale.seconds(waits, 10**9, workers) for workers in (1, 4, 100))
    assert (one, four) == (25_000.0, 6_250.0), "a million pages, 0.1 s each, four at once"
    assert many == 6_250.0, "250 million units, 40,000 a second"
    busy = Taken(pages=0.0, others=1.0, read_units=0.0, write_units=1.0, cpu_seconds=0.0001)
    assert at_scale.seconds(busy, 16_000, 1) == pytest.approx(16_000 * (0.0001 + 0.01 / 16))


def test_what_is_read_takes_its_pages(kept: dict[str, Any]) -> None:
    """Each table that was measured of a collection is less than a page: the page said no request, and no wait."""
    for command, taken in kept["each"].items():
        each = Taken(**taken)
        assert each.pages >= each.read_units / 256 * 0.99, command
    measured = Taken(pages=0.0, others=0.0, read_units=0.256, write_units=0.0, cpu_seconds=0.0)
    assert at_scale.in_full_pages(measured).pages == pytest.approx(0.001)


def test_the_page_follows_items_and_region(kept: dict[str, Any]) -> None:
    small = at_scale.page({**kept, "items": 10**6})
    assert "| `check`" in small
    assert "1 million items of 1,024 bytes" in small
    assert "250 thousand" in small
    with pytest.raises(SystemExit, match="no prices of nowhere"):
        at_scale.page({**kept, "region": "nowhere"})
