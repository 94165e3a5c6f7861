"""What is known to be otherwise on an engine: `expected/NAME.toml`, one `[[difference]]` for each cause.

[[difference]]
cause = "why the tests fail there, in one sentence"
seen = "what a user of the library sees"
tests = ["tests/engine/test_capacity.py::test_a_read[*]"]      # `*` stands for any text
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

EXPECTED = Path(__file__).parent / "expected"


@dataclass(frozen=True)
class Difference:
    """One cause, and the tests that fail for it."""

    cause: str
    seen: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Differences:
    """Of one engine."""

    all: tuple[Difference, ...] = ()

    def __post_init__(self) -> None:
        patterns = [(_pattern(test), each.cause) for each in self.all for test in each.tests]
        object.__setattr__(self, "_exact", {test: each.cause for each in self.all for test in each.tests})
        object.__setattr__(self, "_patterns", patterns)

    def cause_of(self, test: str) -> str | None:
        """Why a test fails there; None where it is to pass."""
        exact: dict[str, str] = getattr(self, "_exact")  # noqa: B009
        patterns: list[tuple[re.Pattern[str], str]] = getattr(self, "_patterns")  # noqa: B009
        if test in exact:
            return exact[test]
        return next((cause for pattern, cause in patterns if pattern.fullmatch(test)), None)


def names() -> list[str]:
    """The engines that have a list."""
    return sorted(path.stem for path in EXPECTED.glob("*.toml"))


def read_differences(engine: str) -> Differences:
    """An engine's list; empty for one that has none."""
    path = EXPECTED / f"{engine.partition('=')[0]}.toml"
    if "/" in engine.partition("=")[0] or not path.exists():
        return Differences()
    said = tomllib.loads(path.read_text())
    return Differences(tuple(_read(each, path) for each in said["difference"]))


def _read(said: dict[str, object], path: Path) -> Difference:
    cause, seen, tests = said.get("cause"), said.get("seen"), said.get("tests")
    if not (isinstance(cause, str) and cause and isinstance(seen, str) and seen and isinstance(tests, list) and tests):
        raise ValueError(f"{path.name}: a difference has a cause, what is seen, and its tests: {said}")
    return Difference(cause, seen, tuple(str(test) for test in tests))


def _pattern(test: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in test.split("*")))
