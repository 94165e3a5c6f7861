"""`--engine` and its lists: what is expected fails, what is not expected fails the run, and so does what went away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines import differences
from tests.engines.differences import Difference, Differences, read_differences
from tests.support.prefixes import prefixed, restored

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.embedded("these tests are of the option itself")
ON = "listed=http://127.0.0.1:9"
ARGUMENTS = ("-p", "tests.support.engine_option", "-p", "no:cacheprovider", "--engine", ON, "-q")

LIST = """
about = "an engine of this test"

[[difference]]
cause = "it counts from one"
seen = "numbers that are one too large"
tests = [
    "test_suite.py::test_known",
    "test_suite.py::test_case[*]",
    "test_suite.py::test_setup",
    "test_suite.py::test_end",
]

[[difference]]
cause = "it is slow at times"
seen = "a time-out, or none"
sometimes = true
tests = ["test_suite.py::test_now", "test_suite.py::test_then"]
"""
SUITE = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("no fixture")

@pytest.fixture
def ends_badly():
    yield
    raise RuntimeError("no end")

def test_fine(): pass
def test_known(): assert {known}
@pytest.mark.parametrize("n", [1, 2])
def test_case(n): raise RuntimeError("known")
def test_setup(broken): pass
def test_end(ends_badly): pass
def test_other(): assert {other}
def test_now(): assert True
def test_then(): assert False
@pytest.mark.embedded("it has a file")
def test_file(): assert False
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setattr(differences, "EXPECTED", Path(pytester.path))
    (pytester.path / "listed.toml").write_text(LIST)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return pytester


def test_what_the_list_expects_is_no_failure_in_whatever_phase_it_happens(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=SUITE.format(known=False, other=True))
    result = suite.runpytest_inprocess(*ARGUMENTS)
    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert (outcomes["xfailed"], outcomes["skipped"], outcomes["passed"]) == (6, 1, 4)


def test_a_failure_that_is_not_in_the_list_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=SUITE.format(known=False, other=False))
    result = suite.runpytest_inprocess(*ARGUMENTS)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_other*"])


def test_a_difference_that_went_away_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=SUITE.format(known=True, other=True))
    result = suite.runpytest_inprocess(*ARGUMENTS)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*take it out of the list. It was expected to fail: it counts from one*"])


def test_a_test_of_the_list_that_does_not_exist_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=SUITE.format(known=False, other=True).replace("def test_known", "def test_renamed"))
    result = suite.runpytest_inprocess(*ARGUMENTS)
    assert result.ret != 0
    assert "the list of listed=http://127.0.0.1:9 names it: test_suite.py::test_known" in str(result.stderr)


def test_a_list_without_a_cause_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "EXPECTED", tmp_path)
    (tmp_path / "one.toml").write_text('about = "x"\n[[difference]]\nseen = "y"\ntests = ["a.py::b"]\n')
    with pytest.raises(ValueError, match="a difference has a cause"):
        read_differences("one")


def test_a_pattern_is_a_star_and_nothing_else() -> None:
    found = Differences((Difference("why", "what", ("a.py::test_x[*]", "a.py::test_y[1.0]")),))
    assert found.cause_of("a.py::test_x[one-two]") == "why"
    assert found.cause_of("a.py::test_y[1.0]") == "why"
    assert found.cause_of("a.py::test_y[1x0]") is None
    assert found.unused(["a.py::test_x[1]"]) == ["a.py::test_y[1.0]"]
    assert found.unused(["b.py::test"]) == []


def test_tables_have_longer_names_on_the_wire_alone() -> None:
    said = b'{"TableName":"app","Key":{"TableName":{"S":"app"}},"RequestItems":{"app":{"Keys":[]}},"N":1}'
    sent = prefixed(said, "test-1-")
    assert b'"TableName":"test-1-app","Key":{"TableName":{"S":"app"}},"RequestItems":{"test-1-app"' in sent
    assert restored(sent, "test-1-") == said
    assert restored(b"", "test-1-") == b""
