"""The table of differences: which tests of the suite the engine does not pass, and our words on why.

    [suite]         the commit, the engine, and how many tests had which outcome
    [[difference]]  a cause, what it means for the library, and its tests with their outcomes

Tests that pass or are skipped are only counted. A test that is in no difference comes under the cause "".
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_UNTOLD = frozenset({"passed", "skipped"})


@dataclass
class Difference:
    """One thing that the engine does otherwise than AWS."""

    cause: str
    means: str = ""
    """What it means for a program that uses the library."""
    tests: dict[str, str] = field(default_factory=dict[str, str])
    """Outcomes, by the tests' names."""


@dataclass
class Table:
    """A run's result, with causes."""

    commit: str
    engine: str
    counts: dict[str, int]
    differences: list[Difference]

    @property
    def outcomes(self) -> dict[str, str]:
        """Of every test that does not pass."""
        return {test: outcome for each in self.differences for test, outcome in each.tests.items()}


def table_of(outcomes: Mapping[str, str], commit: str, engine: str, before: Table | None) -> Table:
    """The table of a run; causes are those of the table before."""
    known = before.differences if before is not None else []
    untold = {test: outcome for test, outcome in outcomes.items() if outcome not in _UNTOLD}
    differences = [
        Difference(each.cause, each.means, {test: untold.pop(test) for test in sorted(each.tests) if test in untold})
        for each in known
        if each.cause
    ]
    if untold:
        differences.append(Difference("", "", dict(sorted(untold.items()))))
    return Table(commit, engine, dict(sorted(Counter(outcomes.values()).items())), [d for d in differences if d.tests])


def changes(before: Table, after: Table, files: Sequence[str] = ()) -> list[str]:
    """What a run did otherwise than the table says, a line each; only in `files`, where some are named."""
    old = {name: o for name, o in before.outcomes.items() if not files or name.partition("::")[0] in files}
    new = after.outcomes
    names = sorted(old.keys() | new.keys())
    return [
        f"{name}: {old.get(name, 'passed')}, now {new.get(name, 'passed or is gone')}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def read(text: str) -> Table:
    data = tomllib.loads(text)
    suite = data["suite"]
    differences = [Difference(d["cause"], d["means"], d["tests"]) for d in data.get("difference", ())]
    return Table(suite["commit"], suite["engine"], suite["counts"], differences)


def written(table: Table) -> str:
    """The table as TOML."""
    counts = ", ".join(f"{_quoted(name)} = {count}" for name, count in table.counts.items())
    lines = [
        "# Written by `python -m tools.engine_differences run`. Causes and meanings are ours, and are kept.",
        "[suite]",
        'name = "test/alternator of github.com/scylladb/scylladb"',
        f"commit = {_quoted(table.commit)}",
        f"engine = {_quoted(table.engine)}",
        f"counts = {{ {counts} }}",
    ]
    for each in table.differences:
        lines += ["", "[[difference]]", f"cause = {_quoted(each.cause)}", f"means = {_quoted(each.means)}"]
        lines += ["[difference.tests]", *(f"{_quoted(test)} = {_quoted(o)}" for test, o in each.tests.items())]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
