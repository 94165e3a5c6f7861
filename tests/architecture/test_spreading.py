"""Workers of pytest-xdist are given whole files: what a module's tests share is made once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.spreading import LONGEST, TOGETHER, WAITING, in_order, unit_of
from tools.distributions import PYTHONPATH

ROOT = Path(__file__).parents[2]
pytest_plugins = ["pytester"]

CONFTEST = "from tests.support.spreading import pytest_collection_modifyitems, pytest_xdist_make_scheduler\n"
SUITE = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_here(number):
    pass
"""


def test_the_folders_and_files_are_there() -> None:
    assert [folder for folder in (*TOGETHER, *LONGEST) if not (ROOT / folder).is_dir()] == []
    assert [path for path in WAITING if not (ROOT / path).exists()] == []


def test_what_waits_lies_between_the_others() -> None:
    waiting = ["tests/queues/test_a.py", "tests/queues/test_b.py", "tests/queues/test_c.py"]
    others = [f"tests/unit/test_{number:02}.py" for number in range(18)]
    places = in_order([*waiting, *others, "tests/browser/test_a.py"])
    assert [places[unit] for unit in waiting] == [0, 3, 6]
    assert (places["tests/browser/test_a.py"], places[others[0]], len(places)) == (1, 2, 22)
    assert in_order(waiting) == {unit: place for place, unit in enumerate(waiting)}


def test_a_unit_is_a_file_or_a_folder() -> None:
    assert unit_of("tests/engine/test_get.py::test_a[1]") == "tests/engine/test_get.py"
    assert unit_of("tests/engine/test_get.py::test_a[1-on=moto]") != unit_of("tests/engine/test_get.py::test_a[1-on=x]")
    assert unit_of("tests/e2e/cli/test_sql.py::test_a") == unit_of("tests/e2e/cli/test_erase.py::test_b")
    assert unit_of("tests/e2e/cli/test_sql.py::test_a") != unit_of("examples/goals/tests/test_cli.py::test_a")


@pytest.mark.soak
def test_a_file_has_one_worker(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_one=SUITE, test_two=SUITE)
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-n", "2", "--dist", "loadfile")
    by_file: dict[str, set[str]] = {}
    for worker, file in re.findall(r"^\[(gw\d)\].* PASSED (test_\w+)\.py", ran.stdout.str(), re.MULTILINE):
        by_file.setdefault(file, set()).add(worker)
    assert by_file.keys() == {"test_one", "test_two"}
    assert [len(workers) for workers in by_file.values()] == [1, 1]
