"""The picture of a table: its classes as boxes with their keys, and a line where one names another. SVG, no script.

A line runs from the class that is named to the one that names it: from a user to the memberships of theirs. Where one
class names another in several ways, the surest one is drawn. Colours are the page's style: here are classes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final

from msgspec import Struct

from singletable.studio.model.layers import Box, Layout, Point, layout_of
from singletable.studio.model.relations import SURENESS
from singletable.studio.model.views import Bond, ClassView, RelationView, TableView
from singletable.studio.site import COLOURS
from singletable.studio.text import visible

_PAD, _HEAD, _LINE = 12, 30, 16
_NARROWEST, _WIDEST = 130.0, 300.0
_NAME_WIDTH, _CODE_WIDTH = 8.8, 6.7
"""The approximate widths of a character: text is measured here, without a browser."""
_BOND_CLASSES: Final[Mapping[Bond, str]] = {
    "belongs to": "owns",
    "copies": "copies",
    "names in its key": "keys",
    "starts at": "edge",
    "leads to": "edge",
    "mentions": "mentions",
}


class Diagram(Struct, frozen=True):
    """A picture, and what it says in words."""

    svg: str
    width: float
    height: float
    legend: tuple[Bond, ...]
    """The kinds of lines that are in it."""


def diagram_of(table: TableView, address: Callable[[ClassView], str]) -> Diagram:
    """The picture of a table. `address` gives where a box leads to."""
    classes = {each.name: each for each in table.classes}
    lines = _lines(table, classes)
    layout = layout_of({name: _size(each) for name, each in classes.items()}, list(lines))
    drawn = [_line(layout, pair, relation) for pair, relation in lines.items()]
    drawn += [_box(classes[name], box, address(classes[name])) for name, box in layout.boxes.items()]
    title = f"{len(classes)} classes of the table {table.name}, and what names what"
    size = (
        f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" width="{layout.width:.0f}" height="{layout.height:.0f}"'
    )
    svg = f'<svg class="diagram" {size} role="group" aria-label="{_said(title)}">{_MARKERS}{"".join(drawn)}</svg>'
    found = {relation.bond for relation in lines.values()}
    return Diagram(svg, layout.width, layout.height, tuple(bond for bond in SURENESS if bond in found))


_MARKERS: Final = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="arrow" d="M0,0.5 L8,4 L0,7.5 z"/></marker></defs>'
)


def colours_of(table: TableView) -> dict[str, str]:
    """The CSS class of each class's colour, by its name."""
    return {each.name: f"k{each.colour % COLOURS}" for each in table.classes}


def _said(text: str) -> str:
    """Any text within SVG."""
    return escape(visible(text))


def _lines(table: TableView, classes: Mapping[str, ClassView]) -> dict[tuple[str, str], RelationView]:
    """The surest relation of each pair, by where its line begins and ends."""
    relations_between: dict[tuple[str, str], RelationView] = {}
    for relation in sorted(table.relations, key=lambda each: SURENESS.index(each.bond)):
        pair = relation.subject, relation.holder
        if relation.bond == "leads to":
            pair = relation.holder, relation.subject
        is_known = relation.subject in classes and pair not in relations_between and pair[::-1] not in relations_between
        if is_known and relation.subject != relation.holder:
            relations_between[pair] = relation
    return relations_between


# --- boxes ------------------------------------------------------------------------------------------------------------
def _texts(view: ClassView) -> list[str]:
    """The texts in a box below the name."""
    if view.ends is not None:
        return [" | ".join(view.ends[0]), f"→ {' | '.join(view.ends[1])}"]
    return list(view.keys[0].templates)


def _size(each: ClassView) -> tuple[float, float]:
    texts = _texts(each)
    widest = max(len(each.name) * _NAME_WIDTH, *(len(text) * _CODE_WIDTH for text in texts))
    height = _HEAD + _LINE * len(texts) + _PAD / 2
    return min(max(widest + 2 * _PAD + 4, _NARROWEST), _WIDEST), height


def _box(view: ClassView, box: Box, address: str) -> str:
    colour = view.colour % COLOURS
    description = f"{view.name}, {view.kind}: {view.description.partition(chr(10))[0]}".rstrip(": ")
    texts = "".join(_text(box, number, text) for number, text in enumerate(_texts(view)))
    name = _cut(view.name, box.width - 2 * _PAD, _NAME_WIDTH)
    return (
        f'<a href="{escape(address)}" class="box {view.kind} k{colour}"><title>{_said(description)}</title>'
        f'<rect class="ground" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{_radius(view)}"/>'
        f'<rect class="stripe" x="{box.x:.1f}" y="{box.y + 8:.1f}" width="4" height="{box.height - 16:.1f}"/>'
        f'<text class="name" x="{box.x + _PAD + 2:.1f}" y="{box.y + 21:.1f}">{_said(name)}</text>{texts}</a>'
    )


def _radius(each: ClassView) -> int:
    """Edges are round, documents have no corner cut, everything else is a card."""
    return {"edge": 18, "document": 2}.get(each.kind, 6)


def _text(box: Box, number: int, text: str) -> str:
    y = box.y + _HEAD + _LINE * number + 8
    cut = _cut(text, box.width - 2 * _PAD, _CODE_WIDTH)
    return f'<text class="key" x="{box.x + _PAD + 2:.1f}" y="{y:.1f}">{_said(cut)}</text>'


def _cut(text: str, width: float, each: float) -> str:
    most = max(4, int(width / each))
    return text if len(text) <= most else f"{text[: most - 1]}…"


# --- lines ------------------------------------------------------------------------------------------------------------
def _line(layout: Layout, pair: tuple[str, str], relation: RelationView) -> str:
    points, is_turned = layout.lines.get(pair), False
    if points is None:
        points, is_turned = layout.lines[pair[1], pair[0]], True
    marker = 'marker-start="url(#arrow)"' if is_turned else 'marker-end="url(#arrow)"'
    description = _said(f"{relation.holder} {relation.bond} {relation.subject}: {relation.shown}")
    kind = _BOND_CLASSES[relation.bond]
    return f'<path class="line {kind}" d="{"".join(_curve(points))}" {marker}><title>{description}</title></path>'


def _curve(points: tuple[Point, ...]) -> Iterator[str]:
    """A path that leaves and arrives level."""
    x, y = points[0]
    yield f"M{x:.1f},{y:.1f}"
    for to_x, to_y in points[1:]:
        middle = (x + to_x) / 2
        yield f" C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
        x, y = to_x, to_y
