"""Tables of other programs, and of the applications, are adopted: each item is made again, and both type checkers pass.

The other libraries write as in `test_beside_libraries`; the applications make their samples by their own code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from examples_demo.tours import TOURS
from examples_shared.tour import steps
from singletable import Database, connect
from singletable.adopt import Adopted, adopted, plan_adoption, read_sample
from singletable.adopt.trial import table_in, trial_of
from singletable.operations import RAW, Scan, Selection, TableCall
from tests.docs.pages import ROOT
from tests.soak.test_beside_libraries import place, play

__all__ = ["place"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
LIBRARIES: Final = ("boto3", "pynamodb", "electrodb", "toolbox", "onetable")
APPLICATIONS: Final[Mapping[str, int]] = {"organisations": 1, "records": 0, "projects": 0, "manhunt": 1}
"""The tables of the applications, with the number of items that no class outside of the library may have: tasks."""


def adopt(db: Database, name: str) -> Adopted:
    plan = db.run(plan_adoption(db.port, name, None))
    return adopted(db.run(read_sample(db.port, plan)).items, plan.layout)


def items_of(db: Database, name: str) -> list[Any]:
    """All items of a table."""
    items: list[Any] = []
    after = None
    while True:
        page = db.run(db.port.send(Scan(name, Selection(after=after), RAW)))
        items += page.items
        if (after := page.after) is None:
            return items


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_table_of_a_library_is_adopted(library: str, place: Path) -> None:
    """By a part of its items; then each item that the library wrote is made again."""
    with play(library, place, seed=11) as both:
        both.fill(1200)
        outcome = adopt(both.db, both.table.name)
        assert [group.what for group in outcome.unexplained] == []
        assert len(outcome.kinds) == 6
        table = table_in(outcome.source, library)
        trials = [trial_of(table, item) for item in items_of(both.db, both.table.name)]
        assert len(trials) == 1200
        assert [trial for trial in trials if not trial.is_exact] == []


@pytest.mark.parametrize("tour", TOURS, ids=lambda tour: tour.application)
def test_the_table_of_an_application_is_adopted(tour: Any) -> None:
    for name, outcome in adopted_of(tour).items():
        assert sum(group.count for group in outcome.unexplained) == APPLICATIONS[name]


def adopted_of(tour: Any) -> Mapping[str, Adopted]:
    """The tables that an application makes, adopted."""
    with connect("local") as db, TemporaryDirectory() as blobs:
        list(steps(db, tour.calls(db, Path(blobs))))
        names = (db.run(db.port.send(TableCall("ListTables", {}))) or {})["TableNames"]
        return {name: adopt(db, name) for name in names}


def test_both_type_checkers_pass_every_module(place: Path, tmp_path: Path) -> None:
    for library in LIBRARIES:
        with play(library, place, seed=12) as both:
            both.fill(240)
            (tmp_path / f"{library}_table.py").write_text(adopt(both.db, both.table.name).source)
    for tour in TOURS:
        for name, outcome in adopted_of(tour).items():
            (tmp_path / f"{name}_application.py").write_text(outcome.source)
    check_types(tmp_path)


def check_types(folder: Path) -> None:
    """Run mypy and pyright, both strict, over the modules."""
    written = sorted(folder.glob("*.py"))
    assert len(written) == len(LIBRARIES) + len(APPLICATIONS)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, written)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    environment = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings | environment))
    pyright = ROOT / "node_modules" / ".bin" / "pyright"
    ran = subprocess.run([str(pyright), "-p", str(folder)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
