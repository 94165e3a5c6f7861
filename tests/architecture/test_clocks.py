"""Intervals are measured by a clock that nobody sets: never by the wall's, `port.now()` or `time.time()`.

What can be seen in the text is refused: a wall time that is kept in an object, and one that is compared with another
or subtracted from it in one function. Times that are stored, shown, or compared with stored ones are the wall's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tools.distributions import ROOT, modules

WALL_CLOCKS = {"now", "time"}
ALLOWED = {
    "examples/goals/src/goals/sample.py: now": "the time that the sample's items are stored with",
    "examples/manhunt/src/manhunt/incidents.py: snoozed_until": "stored: the time at which a snooze ends",
    "src/singletable/wire/service_clock.py: skew": "how far a clock is off, found anew when a signature is refused",
    "src/singletable/streams/tail.py: began_at": "compared with the times of records, which the service gives",
}
"""What keeps a wall time all the same, and why."""


def kept_or_compared(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each use of the wall clock that measures an interval."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        names = _wall_times(function)
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Attribute) and _is_wall(node.value, names):
                        yield node.lineno, target.attr
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                if _is_wall(node.left, names) and _is_wall(node.right, names):
                    yield node.lineno, "a difference"
            elif isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                if sum(_is_wall(side, names) for side in sides) > 1:
                    yield node.lineno, "a comparison"


def _wall_times(function: ast.AST) -> set[str]:
    """The local names that hold a time of the wall clock."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_wall(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _is_wall(node: ast.AST, names: set[str]) -> bool:
    """A reading of the wall clock, a name of one, or one that something is added to or subtracted from."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return _is_wall(node.left, names) != _is_wall(node.right, names)
    if isinstance(node, ast.BoolOp):
        return any(_is_wall(value, names) for value in node.values)
    return _is_reading(node)


def _is_reading(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or node.args or node.keywords or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    of_time = isinstance(owner, ast.Name) and owner.id == "time"
    return node.func.attr == "now" or (of_time and node.func.attr == "time")


FILES = [*modules(), *(ROOT / "examples").glob("*/src/**/*.py"), *(ROOT / "examples/recipes").glob("*.py")]


def test_no_interval_is_measured_by_the_wall_clock() -> None:
    found: dict[str, int] = {}
    for file in FILES:
        place, text = file.relative_to(ROOT).as_posix(), file.read_text()
        if any(f".{name}()" in text for name in WALL_CLOCKS):
            found |= {f"{place}: {name}": line for line, name in kept_or_compared(ast.parse(text))}
    refused = [f"{what} (line {line})" for what, line in found.items() if what not in ALLOWED]
    assert refused == [], "measure intervals by port.monotonic(), or say in ALLOWED why a wall time is meant"
    assert set(ALLOWED) <= set(found), "what is allowed is no longer there"


def test_the_wall_clock_comes_in_as_an_argument() -> None:
    """But for the program's own commands, and a process of its own."""
    readers: set[str] = set()
    for file in modules():
        place, text = file.relative_to(ROOT).as_posix(), file.read_text()
        if "time.time()" in text or "datetime.now(" in text:
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
            if any(ast.unparse(call.func) in ("time.time", "datetime.now") for call in calls):
                readers.add(place)
    readers = {place for place in readers if not place.startswith("src/singletable/cli/")}
    assert readers == {"packages/local/src/singletable_local/expiry_upkeep.py"}


@pytest.mark.parametrize(
    "text",
    [
        "self.read_at = port.now()",
        "now = self.port.now()\n    shard.read_at = now",
        "deadline = port.now() + 5\n    while port.now() < deadline: pass",
        "began = time.time()\n    return time.time() - began",
        "now = held.extended_at = self.port.now()",
    ],
)
def test_each_form_is_seen(text: str) -> None:
    assert list(kept_or_compared(ast.parse(f"def measure():\n    {text}\n")))


@pytest.mark.parametrize(
    "text",
    [
        "return item.ends <= port.now()",
        "item = Item(made_at=port.now())",
        "self.read_at = port.monotonic()",
        "until = port.now() + lease\n    claim(until)",
        "waited = port.now() - lease.made_at.timestamp()",
    ],
)
def test_a_stored_time_is_the_walls(text: str) -> None:
    assert not list(kept_or_compared(ast.parse(f"def store():\n    {text}\n")))
