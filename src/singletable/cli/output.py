"""Printing: tables and JSON on standard output, costs and errors on standard error.

Values of items are untrusted. Control characters, and marks that change the direction of text, are dropped from tables
and written as `\\uXXXX` in JSON; no value is interpreted as rich's markup.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, cast

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from singletable.database import Database
from singletable.foundation import COVERED, Entity, Finding, KeyOf, Table, covered_place, personal_names
from singletable.schema import Collection
from singletable.shown_values import encoded, text_of, value_of, without_personal

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_TURNING = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_OBEYED = re.compile(f"[\x00-\x1f{_TURNING}\ud800-\udfff]")
_LEFT_IN_JSON = re.compile(f"[{_TURNING}]")
_PIPED_WIDTH = 160
_NARROWEST_COLUMN = 12


def console(*, stderr: bool = False) -> Console:
    """A new console for each use, so that it writes to the current standard output. Colours only on a terminal."""
    terminal = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not terminal.is_terminal and "COLUMNS" not in os.environ:
        terminal.width = _PIPED_WIDTH
    return terminal


def clean(value: Any) -> str:
    """A value as one line of text, formatted as in JSON."""
    return _OBEYED.sub("", _SEQUENCE.sub("", text_of(value)).replace("\n", " "))


def rows(titles: Sequence[str], lines: Iterable[Sequence[Any]], *, between: bool = False) -> Grid:
    """A table of text; with `between`, with lines between its rows."""
    grid = Grid(box=box.HORIZONTALS if between else box.SIMPLE_HEAD, show_lines=between, pad_edge=False)
    for title in titles:
        grid.add_column(title, overflow="fold")
    for line in lines:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in line))
    return grid


def print_table(titles: Sequence[str], lines: Sequence[Sequence[Any]], *, between: bool = False) -> None:
    """Print a table; where its columns would be too narrow, a block for each row."""
    out = console()
    if len(titles) * _NARROWEST_COLUMN <= out.width or len(titles) <= 2:
        out.print(rows(titles, lines, between=between))
        return
    for line in lines:
        out.print(rows(("", ""), zip(titles, line, strict=True)))


def print_items(items: Sequence[Any], *, personal: bool = False) -> None:
    """Print entities of one class as a table; a single one as a block."""
    if not items:
        return
    lines = [values_of(item, personal=personal) for item in items]
    names = list(lines[0])
    if len(items) == 1:
        print_table((type(items[0]).__name__, ""), [(name, lines[0][name]) for name in names])
        return
    print_table(names, [[line[name] for name in names] for line in lines])


def values_of(entity: Any, *, personal: bool) -> dict[str, Any]:
    """An entity's attributes, as they may be shown."""
    kind: Any = entity.__class__
    covered = frozenset[str]() if personal else personal_names(kind)
    values = {each.name: value_of(entity, each.name) for each in dataclasses.fields(entity)}
    return {
        name: COVERED
        if name in covered and not isinstance(value, KeyOf)
        else without_personal(value, personal=personal)
        for name, value in values.items()
    }


def facts_of(table: Table, finding: Finding, *, personal: bool = False) -> dict[str, Any]:
    """A finding as JSON, without what is personal in its key unless that is asked for."""
    key = finding.key if personal else covered_place(table, finding.type, finding.key)
    return {"code": finding.code, "type": finding.type, "what": finding.what, "key": list(key)}


def finding_line(table: Table, finding: Finding) -> str:
    """A finding and its key, in one line."""
    return f"{clean(str(finding))}: {clean(' / '.join(covered_place(table, finding.type, finding.key)))}"


def print_json(value: Any, *, personal: bool = False) -> None:
    """Print any value of the library as JSON: numbers exact, sets sorted, bytes as base64, instants as ISO text."""
    click.echo(_harmless(msgspec.json.format(encoded(plain(value, personal=personal)), indent=2).decode()))


def json_text(value: Any) -> str:
    """A value as JSON in one line, for a program."""
    return _harmless(encoded(value).decode())


def _harmless(text: str) -> str:
    """The encoder escapes C0 itself; the others would still control a terminal, or change the direction of its text."""
    return _LEFT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(value: Any, *, personal: bool) -> Any:
    """A value with the ends of edges as the keys of their nodes, GOAL-g1, and marks for personal values."""
    if isinstance(value, (Entity, Collection)):
        given = values_of(value, personal=personal) if isinstance(value, Entity) else vars(value)
        return {name: plain(one, personal=personal) for name, one in given.items()}
    if isinstance(value, KeyOf):
        return without_personal(value, personal=personal)
    if isinstance(value, dict):
        return {name: plain(one, personal=personal) for name, one in cast("Any", value).items()}
    return [plain(one, personal=personal) for one in cast("Any", value)] if isinstance(value, list) else value


class MeteredBlock:
    """Counts and times a block; `print` says what it cost, once there is nothing else to print."""

    def __init__(self, db: Database) -> None:
        self.meter = db.meter()

    def __enter__(self) -> MeteredBlock:
        self._began = time.perf_counter()
        self.meter.__enter__()
        return self

    def __exit__(self, *ended: Any) -> None:
        self.meter.__exit__(*ended)
        self._seconds = time.perf_counter() - self._began

    def print(self) -> None:
        """`1 request, 0.5 read units, 3.1 ms`."""
        meter = self.meter
        counts = [counted(meter.requests, "request")]
        if meter.round_trips != meter.requests:
            counts.append(counted(meter.round_trips, "round trip"))
        if meter.read_units:
            counts.append(counted(meter.read_units, "read unit"))
        if meter.write_units:
            counts.append(counted(meter.write_units, "write unit"))
        note(", ".join([*counts, f"{self._seconds * 1000:.1f} ms"]))


def note(text: str) -> None:
    """Print a remark on standard error."""
    console(stderr=True).print(Text(clean(text), style="dim"), soft_wrap=True)


def error(text: str) -> None:
    lines = "\n".join(clean(line) for line in text.splitlines())
    console(stderr=True).print(Text.assemble(("Error: ", "bold red"), (lines, "red")), soft_wrap=True)


def counted(number: float, word: str, several: str = "") -> str:
    """`1 request`, `2 requests`, `2 entities`."""
    return f"{number:.12g} {word if number == 1 else several or word + 's'}"


def amount(number: float) -> str:
    """A number as people read it: `950`, `12.5K`, `3.1M`, `2G`."""
    for sign in ("", "K", "M", "G"):
        if abs(number) < 999.5 or sign == "G":
            return f"{number:.3g}{sign}"
        number /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """`0.4 s`, `35 s`, `2 min 10 s`, `3 h 5 min`, `4 d 2 h`."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    for size, unit, below, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // below} {smaller}"
    return "60 s"
