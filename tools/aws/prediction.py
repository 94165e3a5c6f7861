"""What the suites will use, from what they used before: `counts.json`, which `count` writes.

For AWS that is what they used on the embedded engine, which reports units as AWS does. Ministack reports others (half a
unit for each page, none for a batch of reads, no index's in a transaction) and fails some tests: its counts are its
own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

from tools.aws.counting import Count, total

COUNTS = Path(__file__).with_name("counts.json")
Like = Literal["aws", "ministack"]
LIKES: tuple[Like, ...] = ("aws", "ministack")


def saved_counts(like: Like, path: Path = COUNTS) -> dict[str, Count]:
    """What each test file uses on a service; nothing where nothing was counted."""
    if not path.exists():
        return {}
    saved: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(path.read_text())
    return {file: Count(**count) for file, count in saved.get(like, {}).items()}


def predict(counts: Mapping[str, Count], files: Sequence[str]) -> Count:
    """The sum over the files. One that was never counted is taken to use what the others use on average."""
    made = total(counts[file] for file in files if file in counts)
    uncounted = len({*files} - counts.keys())
    if uncounted:
        mean = total(counts.values()).scaled(uncounted / max(1, len(counts)))
        made.add(mean)
    return made


def is_like(endpoint: str) -> Like:
    """Which counts an endpoint's will be like."""
    if not endpoint:
        return "aws"
    try:
        with urlopen(f"{endpoint}/_ministack/health", timeout=5) as answer:
            return "ministack" if answer.status == 200 else "aws"
    except (URLError, OSError):
        return "aws"
