"""The command: map, list, run."""

from __future__ import annotations

import argparse
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from queue import Queue

from tools import distributions
from tools.mutants.coverage_map import LATEST, ROOT, CoverageMap, write_map
from tools.mutants.mutations import Mutant, is_valid, mutants_of
from tools.mutants.trying import Outcome, Tree, trees

VERDICTS = Path(__file__).with_name("verdicts.toml")
AREAS = Path(__file__).with_name("areas.toml")


def modules() -> list[Path]:
    """The library's own, without those that are generated from their awaiting form."""
    return [path for path in distributions.modules() if not path.with_name(f"{path.stem}_async.py").exists()]


def areas() -> dict[str, Mapping[str, Sequence[str]]]:
    """Parts of the library by name: `modules`, as patterns, and the `tests` that try them."""
    return tomllib.loads(AREAS.read_text())


def modules_of(area: str) -> list[Path]:
    """The modules of an area; all of them without one."""
    inside = {path for pattern in (areas()[area]["modules"] if area else ()) for path in ROOT.glob(pattern)}
    return [path for path in modules() if path in inside or not area]


def all_mutants(paths: Sequence[Path]) -> list[Mutant]:
    return [m for path in paths for m in mutants_of(path.relative_to(ROOT), path.read_bytes())]


def verdicts() -> dict[tuple[str, str], str]:
    """The reason why each of these is not a defect, by the mutant's name and its line of code."""
    entries = tomllib.loads(VERDICTS.read_text()).get("equivalent", [])
    return {(entry["mutant"], entry["line"]): entry["why"] for entry in entries}


def run(
    mutants: Mapping[int, Mutant],
    named_tests: Sequence[str],
    most_seconds: float = 60.0,
    workers: int = 1,
    folder: Path = LATEST,
) -> int:
    """Try each, so many at a time, with these tests or those that run its line. The number of those that no test kills
    and no verdict explains."""
    known, free, counts = verdicts(), Queue[Tree](), Counter[str]()

    def outcome(mutant: Mutant) -> Outcome:
        if why := known.get((mutant.name, mutant.code)):
            return Outcome("equivalent", why)
        tree = free.get()
        try:
            return tree.outcome(mutant, named_tests or covered.chosen(str(mutant.path), mutant.line, most_seconds))
        finally:
            free.put(tree)

    with trees(workers) as made, ThreadPoolExecutor(workers) as pool:
        covered = CoverageMap({}, {}) if named_tests else CoverageMap.read(folder, made[0].collected())
        for tree in made:
            free.put(tree)
        waiting = {pool.submit(outcome, mutant): (n, mutant) for n, mutant in mutants.items()}
        for done in as_completed(waiting):
            number, mutant = waiting[done]
            counts[done.result().what] += 1
            print(f"{number:4} {_said(mutant, done.result())}", flush=True)
    decided = len(mutants) - counts["equivalent"]
    share = 100 * counts["killed"] / max(1, decided)
    print(f"{dict(counts)}; {share:.1f} % of {decided} decided were killed")
    return counts["survived"] + counts["not run"]


def _said(mutant: Mutant, outcome: Outcome) -> str:
    why = f"\n     {outcome.why}" if outcome.why else ""
    return f"{outcome.what:10} line {mutant.line} of {mutant.name}{why}"


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument(
        "--area", default="", choices=["", *areas()], help="a part of the library, with a map of its own"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    mapping = commands.add_parser("map", help="write which test runs which lines")
    mapping.add_argument("tests", nargs="*")
    mapping.add_argument("--workers", type=int, default=2)
    mapping.add_argument(
        "--sample", type=int, default=0, help="the lines of a sample's modules only, a fifth of the time"
    )
    mapping.add_argument("--seed", type=int, default=1)
    listing = commands.add_parser("list", help="the mutants of some modules")
    listing.add_argument("modules", nargs="+", type=Path)
    running = commands.add_parser("run", help="try a sample")
    running.add_argument("modules", nargs="*", type=Path, help="of these modules only")
    running.add_argument("--only", default="", metavar="TEXT", help="those whose name has this text")
    running.add_argument("--sample", type=int, default=30)
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--after", type=int, default=0, metavar="N", help="go on after the first N of the sample")
    running.add_argument("--numbers", type=int, nargs="*", default=[], help="only these of the sample")
    running.add_argument("--seconds", type=float, default=60.0, help="of tests for a mutant that none of them kills")
    running.add_argument("--workers", type=int, default=2, help="so many mutants at a time")
    running.add_argument("--tests", nargs="*", default=[], help="with these tests, instead of those that run the line")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    asked = options(arguments)
    if asked.command == "map":
        return _map(asked)
    found = all_mutants([path.resolve() for path in asked.modules] or modules_of(asked.area))
    if asked.command == "list":
        print("\n".join(f"{mutant.line}: {mutant.name}" for mutant in found))
        return 0
    found = [mutant for mutant in found if asked.only in mutant.name]
    sample = sample_of(found, asked.sample, asked.seed)
    print(f"{len(sample)} of {len(found)} mutants, seed {asked.seed}")
    wanted = asked.numbers or range(asked.after + 1, len(sample) + 1)
    own = _folder(asked.area, asked.sample, asked.seed)
    folder = own if own.exists() and not (asked.modules or asked.only) else _folder(asked.area)
    return 1 if run({n: sample[n - 1] for n in wanted}, asked.tests, asked.seconds, asked.workers, folder) else 0


def sample_of(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """The first valid ones in an order that the seed gives."""
    shuffled = random.Random(seed).sample(mutants, len(mutants))
    return list(islice((m for m in shuffled if is_valid(m, (ROOT / m.path).read_bytes())), size))


def _map(asked: argparse.Namespace) -> int:
    tests = asked.tests or (areas()[asked.area]["tests"] if asked.area else ["tests", "examples"])
    if not asked.sample:
        return write_map(_folder(asked.area), tests, asked.workers)
    sample = sample_of(all_mutants(modules_of(asked.area)), asked.sample, asked.seed)
    measured = sorted({str(mutant.path) for mutant in sample})
    return write_map(_folder(asked.area, asked.sample, asked.seed), tests, asked.workers, measured)


def _folder(area: str, sample: int = 0, seed: int = 0) -> Path:
    """The folder of an area's map, or of the map for one sample of it."""
    return LATEST / area / (f"sample-{sample}-{seed}" if sample else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
