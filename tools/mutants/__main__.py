"""The command: map, list, run."""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from tools.mutants.coverage_map import LATEST, ROOT, CoverageMap, write_map
from tools.mutants.mutations import Mutant, is_valid, mutants_of

VERDICTS = Path(__file__).with_name("verdicts.toml")
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "node_modules", ".*_cache", "__pycache__", ".mutants", "data")
_LINKED = (".venv", ".venv-emulators", "node_modules")
_MOST_TEST_SECONDS = 60.0
"""Of the tests that one mutant is tried against, the fastest first."""
_MOST_TESTS = 400
_LONGEST_TEST_SECONDS = 40
_LONGEST_RUN_SECONDS = 600
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


def modules() -> list[Path]:
    """The library's own, without those that are generated from their awaiting form."""
    found = sorted((ROOT / "src" / "singletable").rglob("*.py"))
    return [path for path in found if not path.with_name(f"{path.stem}_async.py").exists()]


def all_mutants(paths: Sequence[Path]) -> list[Mutant]:
    return [m for path in paths for m in mutants_of(path.relative_to(ROOT), path.read_bytes())]


def verdicts() -> dict[str, str]:
    """The reason why each of these is no defect, by the mutant's name."""
    return {entry["mutant"]: entry["why"] for entry in tomllib.loads(VERDICTS.read_text()).get("equivalent", [])}


@contextmanager
def copy_of_tree() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        shutil.copytree(ROOT, root, ignore=_NOT_COPIED, symlinks=True)
        for name in _LINKED:
            if (ROOT / name).exists():
                (root / name).symlink_to((ROOT / name).resolve())
        yield root


def chosen(tests: Sequence[str], seconds: dict[str, float]) -> list[str]:
    taken, total = list[str](), 0.0
    for test in tests[:_MOST_TESTS]:
        total += seconds.get(test, 0.0)
        if total > _MOST_TEST_SECONDS and taken:
            break
        taken.append(test)
    return taken


def run_tests(root: Path, tests: Sequence[str], *more: str, timeout: float | None = None) -> tuple[int, list[str]]:
    """Pytest's exit code in a copy of the tree, and the tests that failed."""
    arguments = root / "tests-to-run.txt"
    arguments.write_text("\n".join(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--no-header", "-p", "no:cacheprovider", *more]
    environ = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [*command, f"--timeout={_LONGEST_TEST_SECONDS}", f"@{arguments}"],
        cwd=root,
        env=environ,
        timeout=timeout,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, _FAILED.findall(ran.stdout)


def outcome(root: Path, mutant: Mutant, tests: Sequence[str]) -> str:
    """`killed`, `survived` or `not run`."""
    if not tests:
        return "not run"
    path = root / mutant.path
    before = path.read_bytes()
    path.write_bytes(mutant.applied(before))
    try:
        code, _ = run_tests(root, tests, "-x", timeout=_LONGEST_RUN_SECONDS)
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_bytes(before)
    return "survived" if code == 0 else "killed"


def run(mutants: Sequence[Mutant], covered: CoverageMap) -> list[Mutant]:
    """Try each; the survivors without a verdict."""
    known, survivors, counts = verdicts(), list[Mutant](), Counter[str]()
    tests = {m: chosen(covered.covering(str(m.path), m.line), covered.seconds) for m in mutants if m.name not in known}
    with copy_of_tree() as root:
        _, failing = run_tests(root, sorted({test for each in tests.values() for test in each}))
        print(f"{len(failing)} tests fail without a mutant, and are left out", *failing, sep="\n    ", flush=True)
        for number, mutant in enumerate(mutants, 1):
            passing = [test for test in tests.get(mutant, ()) if test not in failing]
            what = "equivalent" if mutant.name in known else outcome(root, mutant, passing)
            counts[what] += 1
            if what in ("survived", "not run"):
                survivors.append(mutant)
            print(f"{number}/{len(mutants)} {what:10} line {mutant.line} of {mutant.name}", flush=True)
    decided = len(mutants) - counts["equivalent"]
    share = 100 * counts["killed"] / max(1, decided)
    print(f"{dict(counts)}; {share:.1f} % of {decided} decided were killed")
    return survivors


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    mapping = commands.add_parser("map", help="write which test runs which lines")
    mapping.add_argument("tests", nargs="*", default=["tests"])
    mapping.add_argument("--workers", type=int, default=2)
    listing = commands.add_parser("list", help="the mutants of some modules")
    listing.add_argument("modules", nargs="+", type=Path)
    running = commands.add_parser("run", help="try a sample")
    running.add_argument("modules", nargs="*", type=Path, help="of these modules only")
    running.add_argument("--only", default="", metavar="TEXT", help="those whose name has this text")
    running.add_argument("--sample", type=int, default=30)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--after", type=int, default=0, metavar="N", help="go on after the first N of the sample")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    asked = options(arguments)
    if asked.command == "map":
        return write_map(LATEST, asked.tests, asked.workers)
    paths = [path.resolve() for path in asked.modules] or modules()
    found = all_mutants(paths)
    if asked.command == "list":
        print("\n".join(f"{mutant.line}: {mutant.name}" for mutant in found))
        return 0
    found = [mutant for mutant in found if asked.only in mutant.name]
    shuffled = iter(random.Random(asked.seed).sample(found, len(found)))
    valid = (mutant for mutant in shuffled if is_valid(mutant, (ROOT / mutant.path).read_bytes()))
    sample = list(islice(valid, asked.sample))
    print(f"{len(sample)} of {len(found)} mutants, seed {asked.seed}")
    return 1 if run(sample[asked.after :], CoverageMap.read(LATEST)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
