"""Charts as values: bars or lines over labels, drawn as SVG, which shows in any browser without a script.

    chart = Chart("Goals by team", ("Research", "Sales"), (Series("goals", (7.0, 3.0)),))
    svg_of(chart)                        # an <svg> element
    page_of("Report", (svg_of(chart),))  # a page of HTML with its own policy: no script, no request

Labels are untrusted text: they are escaped here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, Literal

from msgspec import Struct

from singletable.errors import InvalidRequest

WIDTH: Final = 720
_ROW, _GAP, _TOP, _LEFT, _RIGHT = 18, 6, 34, 190, 80
_PLOT_HEIGHT: Final = 240
_LONGEST_LABEL: Final = 28
_FEW_COLUMNS: Final = 3
"""They fit a phone side by side."""
_COLOURS: Final = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#718096")
MOST_SERIES: Final = len(_COLOURS)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a202c}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse}"
    ".wide{overflow-x:auto}th,td{padding:.2rem .8rem;border-bottom:1px solid #e2e8f0;text-align:left}"
    "td.number{text-align:right;font-variant-numeric:tabular-nums}"
    "@media screen and (max-width:40rem){.many,.many tbody{display:block}"
    ".many thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}"
    ".many tr{display:block;padding:.5rem 0;border-top:1px solid #a0aec0}"
    ".many td,.many td.number{display:flow-root;border:0;padding:0 0 0 8rem;text-align:left;overflow-wrap:anywhere}"
    ".many td::before{content:attr(data-column);float:left;width:7.5rem;margin-left:-8rem;opacity:.75}}"
    "@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark}body{background:#1a202c;color:#edf2f7}"
    "svg{fill:#edf2f7}rect,polyline{filter:brightness(1.5)}th,td{border-color:#4a5568}}"
    "@media print{body{margin:0;max-width:none}.wide{overflow:visible}svg,tr{break-inside:avoid}}"
)


class Series(Struct, frozen=True):
    """One number for each label."""

    name: str
    values: tuple[float, ...]


class Chart(Struct, frozen=True):
    """The data of a chart. Raises InvalidRequest if a series doesn't have a number for each label."""

    title: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    form: Literal["bars", "lines"] = "bars"

    def __post_init__(self) -> None:
        if not self.labels or not self.series:
            raise InvalidRequest("a chart needs rows to draw, and a column of numbers")
        if len(self.series) > MOST_SERIES:
            raise InvalidRequest(f"a chart has {MOST_SERIES} columns of numbers at most")
        for series in self.series:
            if len(series.values) != len(self.labels):
                raise InvalidRequest(f"{series.name} has {len(series.values)} numbers for {len(self.labels)} labels")
            if not all(map(math.isfinite, series.values)):
                raise InvalidRequest(f"{series.name} has a number that can't be drawn: it is infinite, or none")


def shown(number: float) -> str:
    """A number as a chart shows it: `1,234` or `0.25`."""
    return f"{number:,.0f}" if number == round(number) else f"{number:,.4g}"


def text_of(value: str) -> str:
    """Any text within SVG or HTML: escaped, and without what no such file may hold."""
    return escape(_FORBIDDEN.sub("", value))


def svg_of(chart: Chart) -> str:
    """The chart as an SVG element, with its title as the text that a screen reader says."""
    body, height = _bars(chart) if chart.form == "bars" else _lines(chart)
    title = text_of(chart.title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="system-ui,sans-serif" font-size="12" fill="#1a202c"><title>{title}</title>'
        f'<text x="0" y="16" font-size="15" font-weight="600">{title}</text>{"".join(body)}</svg>'
    )


def page_of(title: str, parts: Iterable[str]) -> str:
    """A page of HTML from elements that are escaped already. Its policy allows no script and no request."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text_of(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{text_of(title)}</h1>\n{chr(10).join(parts)}\n</body></html>\n"
    )


def table_of(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of HTML. Numbers stand at the right. On a phone one of many columns is read row by row."""
    names = [text_of(title) for title in titles]
    head = "".join(f'<th role="columnheader">{name}</th>' for name in names)
    cells = ("".join(_cell(value, name) for value, name in zip(row, names, strict=True)) for row in rows)
    lines = "".join(f'<tr role="row">{each}</tr>' for each in cells)
    kind = ' class="many"' if len(names) > _FEW_COLUMNS else ""
    return (
        f'<div class="wide"><table role="table"{kind}><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{lines}</tbody></table></div>'
    )


def _cell(value: object, column: str) -> str:
    attributes = f'role="cell" data-column="{column}"'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="number" {attributes}>{shown(value)}</td>'
    return f"<td {attributes}>{text_of('' if value is None else str(value))}</td>"


def _bars(chart: Chart) -> tuple[list[str], int]:
    """A row for each label, with a bar for each series."""
    body, top = _legend(chart), _TOP + (18 if len(chart.series) > 1 else 0)
    values = [value for series in chart.series for value in series.values]
    low, high = min(0.0, *values), max(0.0, *values)
    room = WIDTH - _LEFT - _RIGHT
    zero = _LEFT + room * -low / ((high - low) or 1)
    for n, label in enumerate(chart.labels):
        y = top + n * (_ROW * len(chart.series) + _GAP)
        body.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{text_of(_short(label))}</text>')
        for place, series in enumerate(chart.series):
            value = series.values[n]
            length = room * abs(value) / ((high - low) or 1)
            x, at = (zero if value >= 0 else zero - length), y + place * _ROW
            body.append(
                f'<rect x="{x:.1f}" y="{at}" width="{length:.1f}" height="{_ROW - 3}" fill="{_COLOURS[place]}"/>'
                f'<text x="{x + length + 5:.1f}" y="{at + 12}">{shown(value)}</text>'
            )
    return body, top + len(chart.labels) * (_ROW * len(chart.series) + _GAP) + 4


def _lines(chart: Chart) -> tuple[list[str], int]:
    """A line for each series, from the first label to the last."""
    body, top = _legend(chart), _TOP + 18
    values = [value for series in chart.series for value in series.values]
    low, high = min(0.0, *values), max(0.0, *values)
    left, room = 60, WIDTH - 60 - 20
    step = room / max(1, len(chart.labels) - 1)

    def y_of(value: float) -> float:
        return top + _PLOT_HEIGHT * (1 - (value - low) / ((high - low) or 1))

    for mark in (low, (low + high) / 2, high):
        y = y_of(mark)
        body.append(
            f'<line x1="{left}" x2="{left + room}" y1="{y:.1f}" y2="{y:.1f}" stroke="#cbd5e0"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{shown(mark)}</text>'
        )
    for place, series in enumerate(chart.series):
        points = " ".join(f"{left + n * step:.1f},{y_of(value):.1f}" for n, value in enumerate(series.values))
        body.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[place]}" stroke-width="2"/>')
    every = max(1, math.ceil(len(chart.labels) / 8))
    for n in range(0, len(chart.labels), every):
        x, y = left + n * step, top + _PLOT_HEIGHT + 18
        anchor = "end" if n and n == len(chart.labels) - 1 else "middle"
        body.append(f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}">{text_of(_short(chart.labels[n], 12))}</text>')
    return body, top + _PLOT_HEIGHT + 26


def _legend(chart: Chart) -> list[str]:
    if len(chart.series) == 1 and chart.form == "bars":
        return []
    x, body = 0, list[str]()
    for place, each in enumerate(chart.series):
        name = _short(each.name)
        body.append(
            f'<rect x="{x}" y="24" width="12" height="12" fill="{_COLOURS[place]}"/>'
            f'<text x="{x + 17}" y="34">{text_of(name)}</text>'
        )
        x += 40 + 7 * len(name)
    return body


def _short(label: str, most: int = _LONGEST_LABEL) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
