"""How results are told: medians, ratios round by round, tables as Markdown, the machine, and where they are kept."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, Final

RESULTS: Final = Path(__file__).parent / "results"
_PACKAGES: Final = (
    "singletable",
    "boto3",
    "pynamodb",
    "pydynantic",
    "dyntastic",
    "pydynox",
    "aiodynamo",
    "aiobotocore",
    "dynamoxy",
    "aws-sdk-dynamodb",
    "aiohttp",
    "pydantic",
    "msgspec",
    "httptools",
)


@dataclass(frozen=True)
class Ratio:
    """One cost divided by another: the median of the rounds, and the least and the greatest of them."""

    median: float
    least: float
    greatest: float

    def __str__(self) -> str:
        digits = 2 if self.median < 2 else 1
        return f"{self.median:.{digits}f}x ({self.least:.{digits}f}-{self.greatest:.{digits}f})"


def ratio(one: Sequence[float], other: Sequence[float]) -> Ratio:
    found = [a / b for a, b in zip(one, other, strict=True)]
    return Ratio(median(found), min(found), max(found))


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "versions": dict(_versions()),
    }


def headed(title: str, parts: Sequence[str]) -> str:
    """A page of results: title, date, machine, load, versions, then its parts."""
    made = machine()
    place = ", ".join((made["processor"], f"{made['cores']} cores", made["system"], made["python"]))
    loads = " ".join(map(str, made["load_average"]))
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    head = f"{made['date']}; {place}; load average {loads} over 1, 5 and 15 minutes, the benchmark's own included."
    return "\n\n".join([f"# {title}", head, f"Versions: {versions}.", *parts]) + "\n"


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """A Markdown table, readable on a terminal too. Columns are the first row's; a missing cell is a dash."""
    columns = list(next(iter(rows.values())))
    lines = [["", *columns]]
    lines += [[name, *(_cell(row.get(column, "-")) for column in columns)] for name, row in rows.items()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns) + 1)]
    ruled = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return "\n".join(_line(line, widths) for line in ruled)


def write(name: str, summary: Mapping[str, Any], page: str) -> list[Path]:
    """Keep a run beside the code: `results/<name>.json` and `.md`."""
    RESULTS.mkdir(exist_ok=True)
    as_json = json.dumps({**summary, "machine": machine()}, indent=2) + "\n"
    written = [RESULTS / f"{name}.json", RESULTS / f"{name}.md"]
    for path, text in zip(written, (as_json, page), strict=True):
        path.write_text(text)
    return written


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    padded[0] = cells[0].ljust(widths[0])
    return f"| {' | '.join(padded)} |"


def _cell(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)


def _versions() -> Iterator[tuple[str, str]]:
    """Of the packages that this Python has."""
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            yield package, version(package)


def _processor() -> str:
    """What the kernel calls it."""
    told = Path("/proc/cpuinfo")
    if sys.platform == "linux" and told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
