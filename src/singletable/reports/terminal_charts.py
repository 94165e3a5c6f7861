"""Charts in a terminal, by plotext: `pip install 'singletable[reports]'`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final

from singletable.reports.charts import Chart, Series, shown

plotext: Any = import_module("plotext")  # it brings no types
_NARROWEST: Final = 40
_LONGEST_LABEL: Final = 28
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LINES_HEIGHT: Final = 18


def drawing_of(chart: Chart, width: int, *, coloured: bool) -> str:
    """The chart as lines of text, at most `width` wide: bars of each series one below the other. Labels lose what a
    terminal would obey."""
    if chart.form == "lines":
        names = ", ".join(series.name for series in chart.series)
        return _built(f"{chart.title}: {names}", width, partial(_draw_lines, chart=chart), coloured=coloured)
    drawn: list[str] = []
    for series in chart.series:
        title = chart.title if len(chart.series) == 1 else f"{chart.title}: {series.name}"
        drawn.append(_built(title, width, partial(_draw_bars, labels=chart.labels, series=series), coloured=coloured))
    return "\n".join(drawn)


def _built(title: str, width: int, draw: Callable[[Any, int], None], *, coloured: bool) -> str:
    figure: Any = plotext.figure
    figure.clear()
    figure.theme("simple" if coloured else "colorless")
    draw(figure, max(width, _NARROWEST))
    figure.title(_label(title, 2 * _LONGEST_LABEL))
    text = str(figure.build())
    return text if coloured else str(plotext.uncolorize(text))


def _draw_bars(figure: Any, width: int, labels: Sequence[str], series: Series) -> None:
    values = list(reversed(series.values))  # plotext draws the first one lowest
    short = [_label(label) for label in reversed(labels)]
    named = [f"{label} {shown(value)}" for label, value in zip(short, values, strict=True)]
    unique = [f"{name} ({n})" if named.count(name) > 1 else name for n, name in enumerate(named)]
    figure.plot_size(width, 2 * len(unique) + 4)
    low, high = min(0.0, *values), max(0.0, *values)
    figure.ruler("x").lim(low, high if high > low else low + 1.0)  # plotext's own leave out the first bar
    figure.draw(figure.bar(unique, values, orientation="h"))


def _draw_lines(figure: Any, width: int, chart: Chart) -> None:
    figure.plot_size(width, _LINES_HEIGHT)
    for each in chart.series:
        drawn = figure.signal(list(range(len(each.values))), list(each.values))
        figure.draw(drawn.lines())


def _label(text: str, most: int = _LONGEST_LABEL) -> str:
    clean = _OBEYED.sub("", text)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"
