"""What is known to be otherwise on an engine: `expected/NAME.toml`, one `[[difference]]` for each cause.

[[difference]]
cause = "why the tests fail there, in one sentence"
seen = "what a user of the library sees"
tests = ["tests/engine/test_capacity.py::test_a_read[*]"]      # `*` stands for any text
sometimes = true    # left out: they always fail there, and one that passes fails the run

[[left_out]]
layers = ["tests/graph"]
why = "why these layers don't run there at all"

`as = "NAME"` has the differences of another list too, but for those whose tests are all in `put_right`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

EXPECTED = Path(__file__).parent / "expected"


@dataclass(frozen=True)
class Difference:
    """One cause, and the tests that fail for it."""

    cause: str
    seen: str
    tests: tuple[str, ...]
    sometimes: bool = False
    """They may pass there, too: what differs is a matter of time."""


@dataclass(frozen=True)
class LeftOut:
    """Layers, or files of a layer, that don't run on the engine, and why."""

    layers: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Differences:
    """Of one engine."""

    all: tuple[Difference, ...] = ()
    about: str = ""
    """The version that the list is of, and what the engine is."""
    left_out: tuple[LeftOut, ...] = ()

    @cached_property
    def patterns(self) -> list[tuple[str, re.Pattern[str], Difference]]:
        """Each test of the list as it is written, what it stands for, and its difference."""
        return [(test, _pattern(test), each) for each in self.all for test in each.tests]

    def difference_of(self, test: str) -> Difference | None:
        """Why a test fails there; None where it is to pass."""
        return next((each for _, pattern, each in self.patterns if pattern.fullmatch(test)), None)

    def cause_of(self, test: str) -> str | None:
        """The same, in words."""
        difference = self.difference_of(test)
        return None if difference is None else difference.cause

    def unused(self, tests: Collection[str]) -> list[str]:
        """What the list names in files of these tests, and none of them is: renamed tests, or tests that are gone."""
        files = {test.partition("::")[0] for test in tests}
        said = [(test, pattern) for test, pattern, _ in self.patterns if test.partition("::")[0] in files]
        return [test for test, pattern in said if not any(pattern.fullmatch(each) for each in tests)]


def names() -> list[str]:
    """The engines that have a list."""
    return sorted(path.stem for path in EXPECTED.glob("*.toml"))


def read_differences(engine: str) -> Differences:
    """An engine's list; empty for one that has none."""
    path = EXPECTED / f"{engine.partition('=')[0]}.toml"
    if "/" in engine.partition("=")[0] or not path.exists():
        return Differences()
    said = tomllib.loads(path.read_text())
    left_out = tuple(LeftOut(tuple(each["layers"]), str(each["why"])) for each in said.get("left_out", ()))
    own = tuple(_read(each, path) for each in said.get("difference", ()))
    others = read_differences(said["as"]).all if "as" in said else ()
    kept = (each for each in others if not all(test.startswith(tuple(said["put_right"])) for test in each.tests))
    return Differences((*own, *kept), said["about"], left_out)


def _read(said: dict[str, object], path: Path) -> Difference:
    cause, seen, tests = said.get("cause"), said.get("seen"), said.get("tests")
    if not (isinstance(cause, str) and cause and isinstance(seen, str) and seen and isinstance(tests, list) and tests):
        raise ValueError(f"{path.name}: a difference has a cause, what is seen, and its tests: {said}")
    return Difference(cause, seen, tuple(str(test) for test in tests), said.get("sometimes") is True)


def _pattern(test: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in test.split("*")))
