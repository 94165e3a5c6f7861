"""The benchmarks run: every library's objects are checked against what is stored, every page against its operations."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bars import FLOORS, OF_EVERY_PEER
from benchmarks.libraries import LIBRARIES, why_missing
from benchmarks.shares import KINDS

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


def benchmark(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_every_library_does_every_operation() -> None:
    told = json.loads(benchmark("peers", "--quick", "--rounds", "1", "--json"))
    left_out = {library for library in LIBRARIES if why_missing(library)}
    assert len(told["left_out"]) == len(left_out)
    assert set(told["client_cpu_us"]) == set(LIBRARIES) - left_out
    assert {bar["operation"] for bar in told["bars"]} == set(OF_EVERY_PEER)
    assert len({tuple(of_library) for of_library in told["client_cpu_us"].values()}) == 1
    assert told["floors_cpu_us"].keys() == {"singletable", "singletable_async"}
    assert all(found.keys() == FLOORS.keys() for found in told["floors_cpu_us"].values())
    assert set(told["meter_on_to_off"]) >= {"get", "query1000"}


def test_the_engine_is_asked_by_its_socket_and_by_a_port() -> None:
    told = json.loads(benchmark("local_socket", "--rounds", "1", "--json"))
    assert [result["shell"] for result in told] == ["blocking", "asyncio"]
    assert all(result["socket_us"] > 0 and result["port_us"] > 0 for result in told)
    assert all(
        0 < ratio["least"] <= ratio["median"] <= ratio["greatest"] for r in told for ratio in (r["wall"], r["cpu"])
    )


def test_every_page_does_what_its_operations_do() -> None:
    told = benchmark("applications", "--rounds", "1", "--items", "100", "1000")
    for page in ("goals page", "organisation details", "search with attempts", "document head", "document edit"):
        assert f"{page}, 1,000 items" in told


def test_every_section_of_the_studio_is_measured() -> None:
    told = json.loads(benchmark("studio", "--rounds", "3", "--json"))
    assert {result["page"] for result in told} >= {"partition", "sql", "node", "version beside another", "work"}
    assert all(result["milliseconds"] > 0 for result in told)


def test_a_page_of_a_large_partition_takes_what_one_of_a_small_partition_does() -> None:
    told = json.loads(benchmark("studio", "--partition", "2000", "--rounds", "15", "--json"))
    costs = {(result["page"], result["requests"], result["read_units"]) for result in told}
    assert len(costs) == len(told) / 2


def test_a_class_of_a_foreign_table_is_measured() -> None:
    assert benchmark("foreign", "--rounds", "1").count("query100 of") == 3


def test_a_unit_of_each_layer_is_measured_beside_another_tree() -> None:
    told = json.loads(benchmark("layers", "--rounds", "1", "--beside", str(ROOT), "--json"))
    units = [(result["tree"], result["unit"]) for result in told["units"]]
    assert len(set(units)) == 2 * len({unit for _, unit in units}) == 8
    assert all(result["cpu_us"] > result["bare_us"] > 0 for result in told["units"])
    assert all(result["wall_us"] > 0 and result["round_trips"] > 0 for result in told["units"])


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_instructions_of_a_call_have_kinds() -> None:
    told = json.loads(benchmark("shares", "--quick", "--json"))["put"]
    assert all(told[kind] > 0 for kind, _ in KINDS)
    assert told["other"] < sum(told.values()) / 4


def test_what_waiting_costs_is_measured() -> None:
    told = json.loads(benchmark("waiting", "--quick", "--json"))
    assert {"1 thread", "16 threads over TLS", "bursts", "steady", "in flight", "write_many"} <= told["figures"].keys()
    assert told["bars"]["items that write_many asked for before its first request"] == 25
    assert 0 < told["bars"]["MB that write_many grew by"] < 30
