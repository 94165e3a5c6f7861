"""Which tests run a line, fastest first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from tools.mutants.contexts import FOLDER_VARIABLE, MEASURED_VARIABLE

ROOT = Path(__file__).parents[2]
LATEST = ROOT / ".mutants"
_MOST_TESTS = 400
_AT_A_TIME = 5


MEASURED = "src/*", "packages/*"


def write_map(folder: Path, tests: Sequence[str], workers: int, measured: Sequence[str] = MEASURED) -> int:
    """Run tests under coverage of the measured files, a context for each; pytest's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("lines*"), *folder.glob("seconds-*.json")]:
        old.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutants.contexts", "-m", "not soak"]
    spread = ["-n", str(workers), "--dist", "loadfile"] if workers > 1 else []
    environ = {**os.environ, FOLDER_VARIABLE: str(folder), MEASURED_VARIABLE: json.dumps(measured)}
    code = subprocess.run([*command, *spread, *tests], cwd=ROOT, env=environ, check=False).returncode
    coverage.Coverage(data_file=str(folder / "lines")).combine([str(folder)])
    return code


@dataclass
class CoverageMap:
    """By module and line the tests that run it."""

    tests: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    _of_module: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @classmethod
    def read(cls, folder: Path, there: Container[str]) -> CoverageMap:
        """What was written, of those tests that are still there."""
        data = coverage.CoverageData(basename=str(folder / "lines"))
        data.read()
        seconds: dict[str, float] = defaultdict(float)
        for path in folder.glob("seconds-*.json"):
            seconds |= {test: took for test, took in json.loads(path.read_text()).items() if test in there}
        tests: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            lines = data.contexts_by_lineno(file)
            tests[str(Path(file).relative_to(ROOT))] = {n: [c for c in cs if c in there] for n, cs in lines.items()}
        return cls(tests, seconds)

    def chosen(self, module: str, line: int, most_seconds: float) -> list[str]:
        """The tests that a mutant of a line is tried against, those first that are likely to notice it."""
        return chosen(in_order(module, self.covering(module, line), self.seconds), self.seconds, most_seconds)

    def covering(self, module: str, line: int) -> list[str]:
        """Tests of a line. Of one that runs at its module's import, or in processes of its own: those of the module and
        of its package.
        """
        return self.tests.get(module, {}).get(line, []) or [
            *dict.fromkeys([*self._all_of(module), *self._of_package(module)])
        ]

    def _of_package(self, module: str) -> list[str]:
        names = [f"/{name}/" for name in packages_of(module)]
        return [test for test in self.seconds if any(name in test for name in names)]

    def _all_of(self, module: str) -> list[str]:
        if module not in self._of_module:
            lines = self.tests.get(module, {}).values()
            self._of_module[module] = sorted({test for tests in lines for test in tests})
        return self._of_module[module]


def packages_of(module: str) -> tuple[str, ...]:
    """The names under which tests of a module's package lie: of `packages/local/src/singletable_local` both."""
    folder = Path(module).parent
    return (folder.name, folder.parts[1]) if folder.parts[0] == "packages" else (folder.name,)


def in_order(module: str, tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """The tests of the module's own package and the planted faults first. Of each file the fastest few, then of each
    the next few: what of a file is tried first costs its import, which takes longer than most tests.
    """
    near = [f"/{name}/" for name in (*packages_of(module), "oracle")]
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda each: (seconds.get(each, 0.0), each)):
        by_file[test.partition("::")[0]].append(test)
    files = {file: number for number, file in enumerate(by_file)}
    ranks = {test: (rank // _AT_A_TIME, files[file], rank) for file in files for rank, test in enumerate(by_file[file])}
    return sorted(ranks, key=lambda test: (not any(name in test for name in near), ranks[test]))


def chosen(tests: Sequence[str], seconds: Mapping[str, float], most_seconds: float) -> list[str]:
    """Of these tests the first, for so long altogether."""
    taken, total = list[str](), 0.0
    for test in tests[:_MOST_TESTS]:
        total += seconds.get(test, 0.0)
        if total > most_seconds and taken:
            break
        taken.append(test)
    return taken
