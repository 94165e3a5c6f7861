"""Both type checkers take every line of usage.py, and refuse every marked line of mistakes.py."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.distributions import SOURCES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYRIGHT = ROOT / "node_modules/.bin/pyright"
_MYPY_LINE = re.compile(r"^(?:.*/)?(usage|mistakes)\.py:(\d+):(?:\d+:)? error: (.*)$")
Errors = dict[tuple[str, int], str]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("typing")
    shutil.copy(HERE / "usage.py", place / "usage.py")
    shutil.copy(HERE / "mistakes.py.txt", place / "mistakes.py")
    return place


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, workplace: Path) -> tuple[str, Errors]:
    checker: str = request.param
    return checker, (_mypy if checker == "mypy" else _pyright)(workplace)


both = pytest.mark.parametrize("found", ["mypy", "pyright"], indirect=True)


def _mypy(place: Path) -> Errors:
    cache = ["--cache-dir", str(ROOT / ".mypy_cache/typing")]
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--strict", "--no-error-summary", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *config, *cache, "usage.py", "mistakes.py"]
    path = {"MYPYPATH": ":".join(map(str, (*SOURCES, place))), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=place, env=path, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    matches = (_MYPY_LINE.match(line) for line in done.stdout.splitlines())
    return {(m[1], int(m[2])): m[3] for m in matches if m}


def _pyright(place: Path) -> Errors:
    if not PYRIGHT.exists():
        pytest.skip("pyright is not installed: npm ci")
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [*map(str, SOURCES)],
        "reportUnusedVariable": False,
        "reportUnusedExpression": False,
        "reportUnusedImport": False,
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "--project", str(place)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(d["file"]).stem, d["range"]["start"]["line"] + 1): d["message"] for d in told if d["severity"] == "error"
    }


@both
def test_usage_has_no_error(found: tuple[str, Errors]) -> None:
    checker, errors = found
    assert [f"{checker} {file}:{line}: {said}" for (file, line), said in errors.items() if file == "usage"] == []


@both
def test_each_marked_line_is_an_error_and_no_other_is(found: tuple[str, Errors]) -> None:
    checker, errors = found
    lines = (HERE / "mistakes.py.txt").read_text().splitlines()
    marks = {number: line.partition("# !")[2].split() for number, line in enumerate(lines, 1) if "# !" in line}
    wanted = {number for number, named in marks.items() if not named or checker in named}
    excused = {number for number, named in marks.items() if named}
    refused = {line for file, line in errors if file == "mistakes"}
    assert len(wanted) > 90
    assert [f"{checker} accepts line {n}: {lines[n - 1].strip()}" for n in sorted(wanted - refused)] == []
    unmarked = sorted(refused - wanted - excused)
    assert [f"{checker} line {n}: {errors['mistakes', n]}: {lines[n - 1].strip()}" for n in unmarked] == []
