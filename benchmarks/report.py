"""What the samples come to: medians, ratios round by round, and the same as JSON, as a table, as a page."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.libraries import LIBRARIES, OURS, OURS_ASYNC, compared_with
from benchmarks.measure import Case, Effort, Samples
from benchmarks.workload import OPERATIONS

RESULTS: Final = Path(__file__).parent / "results"
_PACKAGES: Final = ("singletable", "boto3", "botocore", "pydynox", "aiodynamo", "aiohttp", "msgspec", "httptools")


@dataclass(frozen=True)
class Ratio:
    """A peer's cost divided by ours: the median of the rounds, and the least and the greatest of them."""

    median: float
    least: float
    greatest: float

    def __str__(self) -> str:
        return f"{self.median:.1f}x ({self.least:.1f}-{self.greatest:.1f})"


def ratio(peer: list[float], ours: list[float]) -> Ratio:
    found = [p / o for p, o in zip(peer, ours, strict=True)]
    return Ratio(median(found), min(found), max(found))


@dataclass(frozen=True)
class Results:
    """One run."""

    samples: Mapping[Case, Samples]
    starts: Mapping[str, Samples]
    effort: Effort

    @property
    def libraries(self) -> list[str]:
        return [library for library in LIBRARIES if (library, OPERATIONS[0]) in self.samples]

    @property
    def peers(self) -> list[str]:
        return [library for library in self.libraries if library not in (OURS, OURS_ASYNC)]

    def ratio(self, peer: str, operation: str) -> Ratio:
        """Of client CPU."""
        ours = self.samples[compared_with(peer), operation]
        return ratio(self.samples[peer, operation].cpu, ours.cpu)

    def start_ratio(self, peer: str) -> Ratio:
        """Of the wall time of the import and the first client."""
        return ratio(self.starts[peer].wall, self.starts[OURS].wall)

    def medians(self, of: str) -> dict[str, dict[str, float]]:
        """Library, operation, microseconds; `of` is cpu or wall."""
        return {
            library: {op: round(median(getattr(self.samples[library, op], of)), 1) for op in OPERATIONS}
            for library in self.libraries
        }

    def starts_ms(self, of: str) -> dict[str, float]:
        return {name: round(median(getattr(samples, of)) / 1000, 1) for name, samples in self.starts.items()}


def summary(results: Results) -> dict[str, Any]:
    """The one object of `--json`."""
    return {
        "client_cpu_us": results.medians("cpu"),
        "wall_us": results.medians("wall"),
        "cpu_ratio_peer_to_ours": {
            peer: {op: vars(results.ratio(peer, op)) for op in OPERATIONS} for peer in results.peers
        },
        "import_and_first_client_ms": {"wall": results.starts_ms("wall"), "cpu": results.starts_ms("cpu")},
        "rounds": results.effort.rounds,
        "loop_seconds": results.effort.loop_seconds,
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": round(os.getloadavg()[1], 1),
        "versions": {package: version(package) for package in _PACKAGES},
    }


def page(results: Results) -> str:
    """The tables as Markdown, which is readable on a terminal too."""
    made = machine()
    place = ", ".join((made["processor"], f"{made['cores']} cores", made["system"], made["python"]))
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    parts = [
        "# singletable and its peers",
        f"{made['date']}; {place}, load average {made['load_average']} over five minutes; {versions}.",
        f"Medians of {results.effort.rounds} interleaved rounds against the replay server (`make bench`).",
        "## Client CPU, microseconds an operation",
        _table(results.medians("cpu")),
        "## Client CPU, the peer's divided by ours: median (least-greatest round)",
        "aiodynamo is compared with `singletable_async`, the others with `singletable`.",
        _table({peer: {op: str(results.ratio(peer, op)) for op in OPERATIONS} for peer in results.peers}),
        "## Wall time, microseconds an operation, the server's share included",
        _table(results.medians("wall")),
        "## Import and first client, milliseconds in a fresh interpreter",
        _table({name: _start_row(results, name) for name in results.starts}),
    ]
    return "\n\n".join(parts) + "\n"


def write(name: str, text: Mapping[str, str]) -> list[Path]:
    """Keep a run beside the code: `results/<name>.json` and `.md`."""
    RESULTS.mkdir(exist_ok=True)
    written = [RESULTS / f"{name}{suffix}" for suffix in text]
    for path in written:
        path.write_text(text[path.suffix])
    return written


def _start_row(results: Results, name: str) -> dict[str, str]:
    ours = name.startswith(OURS)
    return {
        "wall ms": f"{results.starts_ms('wall')[name]:.1f}",
        "CPU ms": f"{results.starts_ms('cpu')[name]:.1f}",
        "wall, divided by ours": "" if ours else str(results.start_ratio(name)),
    }


def _table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    columns = list(next(iter(rows.values())))
    lines = [["", *columns]]
    lines += [[name, *(_cell(row[column]) for column in columns)] for name, row in rows.items()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns) + 1)]
    ruled = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return "\n".join(_line(line, widths) for line in ruled)


def _line(cells: list[str], widths: list[int]) -> str:
    padded = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    padded[0] = cells[0].ljust(widths[0])
    return f"| {' | '.join(padded)} |"


def _cell(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, float) else str(value)


def _processor() -> str:
    """What the kernel calls it."""
    told = Path("/proc/cpuinfo")
    if sys.platform == "linux" and told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
