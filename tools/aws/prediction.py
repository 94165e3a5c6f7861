"""What the suites will use, from what they used before: `counts.json`, which `python -m tools.aws count` writes.

For AWS that is what they used on the embedded engine, which reports units as AWS does. Ministack reports others (half a
unit for each page, none for a batch of reads, no index's in a transaction) and fails some tests: its counts are its
own.

A count belongs to a test file as it was. `file_fingerprint` is of the file and of what it imports from its own
folder: a file whose fingerprint is another one is counted anew before a prediction is made. A change of the library
changes counts too: `SAMPLE` is counted anew before all suites run, and where that differs, everything is.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

from tools.aws.counting import Count, total

COUNTS = Path(__file__).with_name("counts.json")
ROOT = Path(__file__).parents[2]
SAMPLE = (
    "tests/documents/test_branches.py",
    "tests/engine/test_versions.py",
    "tests/graph/test_keys.py",
    "tests/queues/test_clocks.py",
    "tests/streams/test_events.py",
    "tests/sync/test_http.py",
    "tests/tasks/test_leases.py",
)
"""A file of each layer that takes a second or two."""
NEAR = 0.02
"""By so much a prediction may be off."""
_FINGERPRINT = "of"
Like = Literal["aws", "ministack"]
LIKES: tuple[Like, ...] = ("aws", "ministack")
Measure = Callable[[Like, Sequence[str]], Mapping[str, Count]]
"""Runs test files where it costs nothing, and counts."""


@dataclass(frozen=True)
class Counted:
    """What a test file used, and the fingerprint that it had then."""

    count: Count
    of: str

    def saved(self) -> dict[str, float | str]:
        """As JSON."""
        return {**self.count.saved(), _FINGERPRINT: self.of}


def saved_counts(like: Like, path: Path = COUNTS) -> dict[str, Counted]:
    """What each test file used on a service; nothing where nothing was counted."""
    if not path.exists():
        return {}
    saved: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(path.read_text())
    return {file: _read(said) for file, said in saved.get(like, {}).items()}


def changed(counts: Mapping[str, Counted], files: Sequence[str], root: Path = ROOT) -> list[str]:
    """The files that were never counted, or are others than when they were counted."""
    return [file for file in files if file not in counts or counts[file].of != file_fingerprint(file, root)]


def file_fingerprint(file: str, root: Path = ROOT) -> str:
    """The same for as long as neither the test file changes nor what it imports from its own folder."""
    folder, seen, left = Path(file).parent, set[str](), [file, f"{Path(file).parent}/conftest.py"]
    while left:
        each = left.pop()
        if each not in seen and (root / each).is_file():
            seen.add(each)
            left += _imported((root / each).read_text(), folder)
    read = b"\0".join(part for name in sorted(seen) for part in (name.encode(), (root / name).read_bytes()))
    return hashlib.sha256(read).hexdigest()[:12]


def predict(
    like: Like,
    files: Sequence[str],
    measure: Measure,
    *,
    say: Callable[[str], object] = print,
    path: Path = COUNTS,
    root: Path = ROOT,
) -> Mapping[str, Count]:
    """What each file will use. What changed since it was counted is counted first; `say` is told of that."""
    saved = saved_counts(like, path)
    counts = {file: saved[file].count for file in files if file in saved}
    new = changed(saved, files, root)
    if new:
        say(f"Counting {len(new)} test files that are new or have changed since they were counted; it costs nothing.")
        counts |= _measured(measure, like, new)
    known = [file for file in SAMPLE if file in files and file not in new]
    if len(files) <= len(SAMPLE) or not known:
        return counts
    say(f"Counting a sample of {len(known)} test files, which says whether the library still does what was counted.")
    now = _measured(measure, like, known)
    if is_near(total(now.values()), total(counts[file] for file in known)):
        return counts | now
    rest = [file for file in files if file not in now and file not in new]
    say(f"It does not: counting the other {len(rest)} too. `python -m tools.aws count` writes the counts down.")
    return counts | now | _measured(measure, like, rest)


def is_near(one: Count, other: Count) -> bool:
    """Whether requests and units are the same but for `NEAR`."""
    pairs = ((one.requests, other.requests), (one.units, other.units))
    return all(abs(first - second) <= NEAR * max(first, second) for first, second in pairs)


def is_like(endpoint: str) -> Like:
    """Which counts an endpoint's will be like."""
    if not endpoint:
        return "aws"
    try:
        with urlopen(f"{endpoint}/_ministack/health", timeout=5) as answer:
            return "ministack" if answer.status == 200 else "aws"
    except (URLError, OSError):
        return "aws"


def _read(said: Mapping[str, Any]) -> Counted:
    figures = {name: value for name, value in said.items() if name != _FINGERPRINT}
    return Counted(Count(**figures), str(said.get(_FINGERPRINT, "")))


def _measured(measure: Measure, like: Like, files: Sequence[str]) -> dict[str, Count]:
    spent = measure(like, files)
    return {file: spent.get(file, Count()) for file in files}


def _imported(source: str, folder: Path) -> Iterator[str]:
    """The files of a folder that a module's `from ... import ...` may name."""
    package = ".".join(folder.parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(f"{package}."):
            place = node.module.replace(".", "/")
            yield f"{place}.py"
            yield from (f"{place}/{name.name}.py" for name in node.names)
