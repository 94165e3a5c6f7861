"""The figures in pages are those of `results/`: `python -m benchmarks.pages` says which page is behind.

    python -m benchmarks.pages --write     writes them; `python -m benchmarks` does at its end

A page has a place for them between `<!-- measured: NAME -->` and `<!-- end -->`. Pages of results are listed in the
site's navigation.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import at_scale, shares as instructions, waiting as bars_of_waiting
from benchmarks.libraries import OURS, OURS_ASYNC
from benchmarks.report import RESULTS, table
from benchmarks.stages import drawn
from benchmarks.traced import told
from singletable.reports import Chart, Series, svg_of

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = ("README.md", "docs/explanation/speed.md", "docs/explanation/at-scale.md", "docs/how-to/trace.md")
PICTURE: Final = "docs/images/speed.svg"
SITE: Final = "tools/site/zensical.toml"
_PLACE: Final = re.compile(r"(<!-- measured: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TOLD: Final = {
    "get": "get",
    "put": "put",
    "update": "update",
    "query1000": "query 1000",
    "batch_get100": "batch 100",
    "transact4": "transact 4",
    "gets32": "32 gets",
}
_NAMES: Final = {
    OURS_ASYNC: "singletable, asyncio",
    "boto3": "boto3, client",
    "boto3_resource": "boto3, resource",
    "pynamodb": "PynamoDB",
    "pydynox": "pydynox (Rust core)",
    "pydynox_async": "pydynox, asyncio",
    "dynamoxy": "dynamoxy (Rust core), asyncio",
    "aws_sdk": "aws-sdk-dynamodb, asyncio",
}


def page_with_figures(page: str) -> str:
    """The page's text with what is measured in its places."""
    return _PLACE.sub(lambda place: f"{place[1]}\n{FIGURES[place[2]]()}\n\n{place[3]}", page)


def peers() -> str:
    """How many times our CPU each peer takes, and where and when that was."""
    found = _results("peers")
    rows = {_NAMES.get(name, name): _row(found, name) for name in found["cpu_ratio_peer_to_ours"]}
    told = f"{_where(found)}: medians of {found['rounds']} interleaved rounds of `make bench`."
    return f"{table(rows)}\n\n{told}" + "".join(f" Left out: {why}." for why in found.get("left_out", ()))


def _row(found: Mapping[str, Any], name: str) -> dict[str, str]:
    ratios = found["cpu_ratio_peer_to_ours"][name]
    cold = found["cold_client_ratio"].get(name)
    row = {title: _times(ratios[operation]["median"]) for operation, title in _TOLD.items()}
    return row | {"import and client": _times(cold["median"]) if cold else ""}


def drawing() -> str:
    """A picture of what one query of 100 items costs each library."""
    found = _results("peers")["client_cpu_us"]
    used = sorted((us["query100"], _NAMES.get(name, name)) for name, us in found.items())
    chart = Chart(
        "One query of 100 items: client CPU, microseconds",
        tuple(name for _, name in used),
        (Series("us", tuple(float(round(us)) for us, _ in used)),),
    )
    head, rest = svg_of(chart).split("</title>", 1)
    return f'{head}</title><rect width="100%" height="100%" fill="#ffffff"/>{rest}\n'


def network() -> str:
    """What a single request takes behind a network."""
    wall = _results("peers")["over_network_wall_us"]
    others = (f"{wall[name]['get'] / 1000:.2f} with {name}" for name in ("aiodynamo", "pydynox", "boto3"))
    ours = f"{wall[OURS]['get'] / 1000:.2f} ms with ours, blocking"
    return f"With answers that come after 3 ms, as within one region, a `get` takes {ours}, {', '.join(others)}."


def throughput() -> str:
    """Reads a second of one program, and what a long iteration holds."""
    rates = {(r["server"], r["way"], r["operation"]): r["rate"] for r in _results("throughput")["per_second"]}
    one, many = (rates["embedded engine", way, "get"] for way in ("1 thread", "asyncio, 32 tasks"))
    grown = _results("peers")["streaming_grew_mb"]
    return (
        f"* One program makes {_rounded(one)} reads a second in one thread and {_rounded(many)} in one event loop; the "
        "embedded engine is the bottleneck: [throughput](../../benchmarks/results/throughput.md).\n"
        f"* `iter` reads 100,000 items in {grown[OURS]:.0f} MB, with asyncio in {grown[OURS_ASYNC]:.0f}, and memory "
        "does not grow over a million requests: [memory](../../benchmarks/results/soak_memory.md)."
    )


def floors() -> str:
    """Ours over the floor with decode."""
    found = _results("peers")
    measured = found.get("floors_cpu_us")
    if not measured:
        return _NOT_YET
    parts: list[str] = []
    for shell, operations in measured.items():
        rows = {
            operation: {name: f"{us:,.0f} us" for name, us in ways.items()}
            | {"divided": _times(ways[shell] / ways["floor with decode"])}
            for operation, ways in operations.items()
        }
        parts.append(table(rows))
    return "\n\n".join([*parts, f"{_where(found)}."])


def stages() -> str:
    """Where the time of one call goes."""
    found = _results("stages")
    return "\n\n".join([*drawn(found["stages_cpu_us"]), f"{_where(found)}."])


def shares() -> str:
    """What the instructions of a call are."""
    found = _results("shares")
    return f"{instructions.drawn(found['instructions'])}\n\nCallgrind, {found['machine']['python']}."


def waiting() -> str:
    """What waiting costs, beside its bars."""
    found = _results_of_bench("waiting")
    return _NOT_YET if found is None else f"{bars_of_waiting.held_to_bars(found['bars'])}\n\n{_where(found)}."


def layers() -> str:
    """What each layer adds to its requests."""
    found = _results_of_bench("layers")
    if found is None:
        return _NOT_YET
    rows = {
        of["unit"]: {
            "CPU": f"{of['cpu_us']:,.0f} us",
            "of it the layer's own": f"{of['cpu_us'] - of['bare_us']:,.0f} us",
            "requests": f"{of['requests']:.1f}",
            "round trips": f"{of['round_trips']:.1f}",
        }
        for of in found["units"]
    }
    return f"{table(rows)}\n\n{_where(found)}."


def site_with_results(site: str) -> str:
    """The site's settings, in whose navigation every page of results is."""
    (line,) = (line for line in site.splitlines() if "benchmarks/results/peers.md" in line)
    names = sorted(path.stem for path in RESULTS.glob("*.md") if f"benchmarks/results/{path.name}" not in line)
    listed = "".join(f', "benchmarks/results/{name}.md"' for name in names)
    return site.replace(line, line.replace("] }", f"{listed}] }}")) if names else site


def scale() -> str:
    """What each command takes of a very large table."""
    return at_scale.page(_results("at_scale"))


def traced() -> str:
    """The CPU of a call with a listener for OpenTelemetry."""
    found = _results_of_bench("traced")
    if found is None:
        return "Not measured yet: `python -m benchmarks.traced --write traced` does."
    rows = {name: {op: told(figures) for op, figures in calls.items()} for name, calls in found["traced_cpu"].items()}
    return f"{table(rows)}\n\nMedians of {found['pairs']} pairs. {_where(found)}."


FIGURES: Final[Mapping[str, Callable[[], str]]] = {
    "peers": peers,
    "network": network,
    "throughput": throughput,
    "floors": floors,
    "stages": stages,
    "shares": shares,
    "waiting": waiting,
    "layers": layers,
    "at scale": scale,
    "traced": traced,
}


_NOT_YET: Final = "The last run did not measure it: `make bench` does."


def _results_of_bench(name: str) -> Mapping[str, Any] | None:
    """The results of a part of `make bench` that earlier runs did not have."""
    return _results(name) if (RESULTS / f"{name}.json").exists() else None


def _results(name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def _where(found: Mapping[str, Any]) -> str:
    machine = found["machine"]
    place = (machine["processor"], f"{machine['cores']} cores", machine["system"], machine["python"], machine["date"])
    return f"{', '.join(place)}, load average {machine['load_average'][0]}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:.0f}x"


def _rounded(rate: float) -> str:
    return f"{round(rate, -2):,.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description="Figures in pages, of the results.")
    parser.add_argument("--write", action="store_true", help="write the pages that are behind")
    is_written = parser.parse_args().write
    behind = 0
    for name, made in {
        **{name: page_with_figures((ROOT / name).read_text()) for name in PAGES},
        PICTURE: drawing(),
        SITE: site_with_results((ROOT / SITE).read_text()),
    }.items():
        if made == (ROOT / name).read_text():
            continue
        behind += not is_written
        print(f"{name}: {'written' if is_written else 'behind its results: python -m benchmarks.pages --write'}")
        if is_written:
            (ROOT / name).write_text(made)
    return min(behind, 1)


if __name__ == "__main__":
    sys.exit(main())
