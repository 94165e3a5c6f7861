"""`pytest --forks`: what it prints is what pytest prints, of tests that pass, fail, die, and leave something behind."""

from __future__ import annotations

import re

import pytest

from tests.support.forking import units_of
from tools.distributions import PYTHONPATH

pytest_plugins = ["pytester"]

CONFTEST = "from tests.support.forking import pytest_addhooks, pytest_addoption, pytest_runtestloop\n"
SHARED = """
import os, pathlib, pytest
BEGAN = []
OUTPUT = os.fstat(1).st_ino

def pytest_worker_begins():
    BEGAN.append(os.getpid())

def pytest_unconfigure():
    pathlib.Path(f"ended-{os.getpid()}").touch()

@pytest.fixture(scope="session", autouse=True)
def ends():
    yield
    pathlib.Path(f"fixture-{os.getpid()}").touch()

@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")
"""
SUITE = """
import os, signal, sys, pytest

@pytest.mark.parametrize("number", range(4))
def test_passes(number, shared, request):
    print("it is printed")
    import conftest
    assert conftest.BEGAN == [os.getpid()]
    assert os.fstat(1).st_ino != conftest.OUTPUT
    assert shared.parent.name.startswith("worker-")
    seen = getattr(request.module, "seen", {shared})
    request.module.seen = seen | {shared}
    assert seen == {shared}

def test_fails():
    print("a word of", __name__)
    assert 1 == 2

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass

@pytest.mark.skip(reason="for a reason")
def test_is_skipped():
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest(CONFTEST + SHARED)
    pytester.makepyfile(test_one=SUITE, test_two=SUITE, test_three=SUITE)
    return pytester


def test_units_follow_the_order_of_the_tests() -> None:
    nodeids = ["tests/e2e/cli/test_sql.py::a", "tests/e2e/cli/test_fill.py::b", "tests/unit/test_x.py::c"]
    assert units_of(nodeids) == [[0, 1], [2]]


def test_each_test_is_told_once_and_a_worker_that_dies_is_replaced(suite: pytest.Pytester) -> None:
    ran = suite.runpytest_subprocess("-p", "no:cacheprovider", "-rA", "--forks", "2")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.assert_outcomes(passed=15, failed=6, skipped=3)
    output = ran.stdout.str()
    letters = "".join(re.findall(r"^([.Fs]+) .*%\]$", output, re.MULTILINE))
    assert sorted(letters) == sorted("." * 15 + "F" * 6 + "s" * 3)
    assert sorted(re.findall(r"^FAILED (test_\w+)\.py::test_dies - .*signal 9", output, re.MULTILINE)) == [
        "test_one",
        "test_three",
        "test_two",
    ]
    assert sorted(re.findall(r"^a word of (.*)$", output, re.MULTILINE)) == ["test_one", "test_three", "test_two"]
    ended = {path.name.partition("-")[2] for path in suite.path.glob("ended-*")}
    assert len(ended) == 3  # the parent, and the workers that were not killed
    assert len([*suite.path.glob("fixture-*")]) == 2


def test_an_error_at_the_end_of_a_worker_fails_the_run(suite: pytest.Pytester) -> None:
    parent = "import os, pytest\nPARENT = os.getpid()\ndef pytest_unconfigure():\n    assert os.getpid() == PARENT\n"
    suite.makeconftest(CONFTEST + parent)
    suite.makepyfile(test_one="def test_passes(): pass", test_two="", test_three="")
    ran = suite.runpytest_subprocess("-p", "no:cacheprovider", "--forks", "2")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    assert "os.getpid() == PARENT" in ran.stderr.str()


def test_it_stops_at_the_first_failure(suite: pytest.Pytester) -> None:
    ran = suite.runpytest_subprocess("-p", "no:cacheprovider", "-x", "--forks", "2")
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    assert ran.parseoutcomes()["failed"] == 1
    assert len([*suite.path.glob("fixture-*")]) in (1, 2)  # on a busy machine the other has begun nothing


def test_a_test_that_runs_is_interrupted_at_the_end(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_one="import signal\ndef test_runs():\n    signal.pause()", test_three="")
    ran = suite.runpytest_subprocess("-p", "no:cacheprovider", "-x", "--forks", "2", timeout=60)
    assert ran.parseoutcomes() == {"passed": 4, "failed": 1}
