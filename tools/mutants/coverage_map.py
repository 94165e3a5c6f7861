"""Which tests run a line, fastest first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from tools.mutants.contexts import FOLDER_VARIABLE

ROOT = Path(__file__).parents[2]
LATEST = ROOT / ".mutants"


def write_map(folder: Path, tests: Sequence[str], workers: int) -> int:
    """Run tests under coverage, a context for each; pytest's exit code."""
    folder.mkdir(exist_ok=True)
    for old in [*folder.glob("lines*"), *folder.glob("seconds-*.json")]:
        old.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutants.contexts", "-m", "not soak"]
    spread = ["-n", str(workers), "--dist", "loadgroup"] if workers > 1 else []
    environ = {**os.environ, FOLDER_VARIABLE: str(folder)}
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
    def read(cls, folder: Path) -> CoverageMap:
        data = coverage.CoverageData(basename=str(folder / "lines"))
        data.read()
        seconds: dict[str, float] = defaultdict(float)
        for path in folder.glob("seconds-*.json"):
            seconds |= json.loads(path.read_text())
        tests: dict[str, dict[int, list[str]]] = {}
        for file in data.measured_files():
            lines = data.contexts_by_lineno(file)
            tests[str(Path(file).relative_to(ROOT))] = {n: [c for c in cs if c] for n, cs in lines.items()}
        return cls(tests, seconds)

    def covering(self, module: str, line: int) -> list[str]:
        """Tests of a line; of the whole module for one that runs at its import."""
        found = self.tests.get(module, {}).get(line, [])
        return sorted(found or self._all_of(module), key=lambda test: self.seconds.get(test, 0.0))

    def _all_of(self, module: str) -> list[str]:
        if module not in self._of_module:
            lines = self.tests.get(module, {}).values()
            self._of_module[module] = sorted({test for tests in lines for test in tests})
        return self._of_module[module]
