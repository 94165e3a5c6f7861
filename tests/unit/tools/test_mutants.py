"""Which mutants a module has, and that each is what it says."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tools.mutants.__main__ import all_mutants, areas, modules, modules_of, verdicts
from tools.mutants.coverage_map import ROOT, chosen, in_order
from tools.mutants.mutations import Mutant, is_valid, mutants_of
from tools.mutants.trying import Failure, failure_of

PATH = Path("src/x.py")


def mutants(code: str) -> list[Mutant]:
    return mutants_of(PATH, textwrap.dedent(code).encode())


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("x = a < b", "a < b -> a <= b"),
        ("x = a is not None", "a is not None -> a is None"),
        ("x = (a) not in (b)", "(a) not in (b) -> (a) in (b)"),
        ("x = a and b and c", "a and b and c -> a or b and c"),
        ("x = a + b", "a + b -> a - b"),
        ("x = not a", "not a -> (a)"),
        ("x = True", "True -> False"),
        ("x = 1", "1 -> 2"),
        ("x = min(a, b)", "min -> max"),
        ("f(a, b=c, d=e)", "f(a, b=c, d=e) -> f(a, d=e)"),
        ("def f():\n    return a", "a -> None"),
        ("f(a)", "f(a) -> pass"),
        ("x = a", "x = a -> pass"),
        ("x += a", "x += a -> pass"),
        ("raise E", "raise E -> pass"),
        ("for a in b:\n    continue", "continue -> break"),
        ("if a:\n    f()", "a -> not (a)"),
        ("x = a if b else c", "b -> not (b)"),
        ('x = "é" + a', '"é" + a -> "é" - a'),
    ],
)
def test_a_mutant_of_each_kind(code: str, wanted: str) -> None:
    assert f"{PATH}: {wanted}" in [mutant.name for mutant in mutants(code)]


@pytest.mark.parametrize(
    "code",
    ['"""Text."""', "x: int", "if TYPE_CHECKING:\n    import a", "def f() -> 1:\n    pass", "return_ = None"],
)
def test_nothing_that_runs_nothing_has_one(code: str) -> None:
    assert [m.name for m in mutants(code) if m.after != "pass"] == []


def test_a_mutant_changes_its_own_place_only() -> None:
    code = textwrap.dedent(
        """
        def f(a, b):
            if a == b:
                return a == b
            return not a
        """
    ).encode()
    changed = {mutant.applied(code).decode() for mutant in mutants_of(PATH, code)}
    assert len(changed) == len(mutants_of(PATH, code))
    assert code.decode() not in changed
    assert all(len(each.splitlines()) == len(code.splitlines()) for each in changed)


def test_a_mutant_of_several_lines() -> None:
    [mutant] = [m for m in mutants("x = (\n    a\n    == b\n)") if "!=" in m.after]
    assert ast.unparse(ast.parse(mutant.applied(b"x = (\n    a\n    == b\n)"))) == "x = a != b"


def test_one_that_is_no_python_is_left_out() -> None:
    data = b"x = a"
    assert not is_valid(Mutant(PATH, 1, 0, 1, "x", "1"), data)
    assert is_valid(Mutant(PATH, 1, 0, 1, "x", "y"), data)


def test_most_mutants_of_the_library_are_valid() -> None:
    path = next(path for path in modules() if path.name == "merge.py")
    found = mutants_of(path, path.read_bytes())
    assert len(found) > 20
    assert all(is_valid(mutant, path.read_bytes()) for mutant in found)


def test_what_is_generated_is_not_changed() -> None:
    names = {str(path.relative_to(path.parents[1])) for path in modules()}
    assert "singletable/database_async.py" in names
    assert "singletable/database.py" not in names


def test_the_fastest_tests_up_to_a_minute() -> None:
    seconds = {"a": 0.1, "b": 30.0, "c": 40.0}
    assert chosen(["a", "b", "c"], seconds, 60.0) == ["a", "b"]
    assert chosen(["c"], {"c": 100.0}, 60.0) == ["c"]
    assert chosen([], seconds, 60.0) == []


def test_tests_of_the_package_come_first_and_a_few_of_each_file() -> None:
    own, other, elsewhere = ([f"{file}::{n}" for n in range(7)] for file in ("t/graph/a.py", "t/graph/b.py", "t/c.py"))
    seconds = {test: n / 10 for n, test in enumerate([*elsewhere, *own, *other])}
    wanted = [*own[:5], *other[:5], *own[5:], *other[5:], *elsewhere]
    assert in_order("src/singletable/graph/read.py", seconds, seconds) == wanted


def test_each_verdict_is_of_a_mutant_that_there_is() -> None:
    paths = {ROOT / name.partition(":")[0] for name, _ in verdicts()}
    there = {(mutant.name, mutant.code) for mutant in all_mutants(sorted(paths))}
    assert set(verdicts()) <= there
    assert all(len(why) > 20 for why in verdicts().values())


def test_an_area_has_modules_and_tests() -> None:
    """A pattern that matches nothing, or a folder that has moved, would leave its mutants untried."""
    for area, parts in areas().items():
        assert [pattern for pattern in parts["modules"] if not list(ROOT.glob(pattern))] == []
        assert [test for test in parts["tests"] if not (ROOT / test).exists()] == []
        assert set(modules_of(area)) < set(modules_of("")) == set(modules())


@pytest.mark.parametrize(
    ("code", "output", "failure"),
    [
        (
            1,
            "FAILED tests/a.py::test_x - assert 1 == 2\nERROR tests/b.py::test_y",
            Failure("tests/a.py::test_x", False),
        ),
        (2, "ERROR tests/a.py - ImportError: no", Failure("", False)),
        (1, "FAILED tests/a.py::test_x - Failed: Timeout >40.0s", Failure("tests/a.py::test_x", True)),
        (None, "", Failure("", True)),
    ],
)
def test_the_failure_of_a_run(code: int | None, output: str, failure: Failure) -> None:
    assert failure_of(code, output) == failure
