"""What the tests say of a mutant, which is tried in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tools.distributions import PYTHONPATH
from tools.mutants.coverage_map import ROOT
from tools.mutants.mutations import Mutant
from tools.mutants.warm import WarmPytest

_NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "node_modules", ".*_cache", "__pycache__", ".mutants", "data")
_LINKED = (".venv", ".venv-emulators", ".venv-tools", "node_modules")
_LONGEST_TEST_SECONDS = 40
_LONGEST_RUN_SECONDS = 600
_FIRST_TESTS = 15
"""So many run before the others are even collected: most mutants fail one of them."""
_OF_THE_TEXT = (
    *("tests/architecture/test_hints.py", "tests/architecture/test_values.py"),
    "tests/docs/test_reference.py::test_the_page_of_the_command_line_is_its_help",
)
"""They read the library's code instead of running it, so that no line leads to them."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_TIMED_OUT = re.compile(r"Timeout \(?>")
_TIMES = count(1)


@dataclass(frozen=True)
class Outcome:
    what: str
    """`killed`, `survived`, `not run`, or `equivalent` by a verdict."""
    why: str = ""
    """The test that failed, or the verdict's reason."""


@dataclass(frozen=True)
class Failure:
    test: str
    """Empty where pytest doesn't say which."""
    was_time: bool


@dataclass
class Tree:
    """A copy of the tree, where one mutant at a time is tried."""

    root: Path
    runner: WarmPytest
    _passing: set[str] = field(default_factory=set[str])
    """Tests that have been seen to pass without a mutant."""

    def collected(self) -> frozenset[str]:
        """The tests that there are: pytest runs none at all where it is asked for one that there isn't."""
        _, output = self.runner.run(["--collect-only", "-q", "-p", "no:cacheprovider"], _LONGEST_RUN_SECONDS)
        return frozenset(line for line in output.splitlines() if "::" in line)

    def outcome(self, mutant: Mutant, tests: Sequence[str]) -> Outcome:
        for part in (tests[:_FIRST_TESTS], tests[_FIRST_TESTS:], _OF_THE_TEXT):
            if killer := self._killer(mutant, part):
                return Outcome("killed", killer)
        return Outcome("survived" if tests else "not run")

    def _killer(self, mutant: Mutant, tests: Sequence[str]) -> str:
        """The first test that fails with the mutant and passes without; empty for none."""
        left_out = list[str]()
        while tests and (failure := self._failure(tests, mutant, left_out)):
            if self._is_due_to(mutant, failure, tests):
                return failure.test or "a run that failed as a whole"
            if not failure.test:
                return ""
            left_out.append(failure.test)
        return ""

    def _is_due_to(self, mutant: Mutant, failure: Failure, tests: Sequence[str]) -> bool:
        """A machine that is busy can make a test late: a failure by time has to come twice."""
        again = [failure.test] if failure.test else tests
        if failure.was_time:
            return self._failure(again) is None and self._failure(again, mutant) is not None
        if failure.test not in self._passing and self._failure(again) is not None:
            return False
        self._passing |= {failure.test} - {""}
        return True

    def _failure(
        self, tests: Sequence[str], mutant: Mutant | None = None, left_out: Sequence[str] = ()
    ) -> Failure | None:
        """The first of these tests that fails."""
        listed = self.root / "tests-to-run.txt"
        listed.write_text("\n".join(tests))
        options = ["-q", "-x", "-rfE", "--no-header", "-p", "no:cacheprovider", f"--timeout={_LONGEST_TEST_SECONDS}"]
        options += [f"--deselect={test}" for test in left_out]
        with self._changed(mutant):
            code, output = self.runner.run([*options, f"@{listed}"], _LONGEST_RUN_SECONDS)
        if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            return None
        return failure_of(code, output)

    @contextmanager
    def _changed(self, mutant: Mutant | None) -> Generator[None]:
        """While it lasts, a module has the mutant; each has a time of its own, so that no older bytecode is taken."""
        if mutant is None:
            yield
            return
        path = self.root / mutant.path
        before, was = path.read_bytes(), path.stat()
        path.write_bytes(mutant.applied(before))
        time = next(_TIMES)
        os.utime(path, (time, time))
        try:
            yield
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def failure_of(code: int | None, output: str) -> Failure:
    """The failure of a run; without a test where a module can't be imported, as none of its tests can be left out."""
    failed = _FAILED.search(output)
    return Failure(failed[1] if failed and "::" in failed[1] else "", code is None or bool(_TIMED_OUT.search(output)))


@contextmanager
def trees(number: int) -> Generator[list[Tree]]:
    """Copies of the tree, each with a pytest that is ready to run."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        made = [_copy(Path(folder, f"tree{n}")) for n in range(number)]
        for tree in made:
            stack.callback(tree.runner.close)
        yield made


def _copy(root: Path) -> Tree:
    shutil.copytree(ROOT, root, ignore=_NOT_COPIED, symlinks=True)
    for name in _LINKED:
        if (ROOT / name).exists() and not (root / name).is_symlink():
            (root / name).symlink_to((ROOT / name).resolve())
    environ = {**os.environ, "PYTHONPATH": PYTHONPATH.replace(str(ROOT), str(root))}
    return Tree(root, WarmPytest(root, environ))
