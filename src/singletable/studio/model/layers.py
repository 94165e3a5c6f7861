"""The places of boxes: in layers from left to right, lines between them, the same for the same declaration.

The four steps of layered drawing: lines that would close a circle are turned, each box gets the layer after its
predecessors, boxes change places within a layer until few lines cross, and each moves as near to its neighbours as the
others let it. A line that passes a layer has a joint in it, so that it goes around the boxes there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from msgspec import Struct

Pair = tuple[str, str]
Point = tuple[float, float]

_ACROSS: Final = 76
"""Between two layers."""
_BETWEEN: Final = 16
"""Between two boxes of a layer."""
_MARGIN: Final = 2
_SWEEPS: Final = 12
_JOINT_HEIGHT: Final = 8
_WIDEST_ROW: Final = 900


class Box(Struct, frozen=True):
    """A box where it stands."""

    x: float
    y: float
    width: float
    height: float


class Layout(Struct, frozen=True):
    """Boxes and lines, in a picture of a width and a height."""

    boxes: Mapping[str, Box]
    lines: Mapping[Pair, tuple[Point, ...]]
    """From the right side of one box to the left side of the other, or back, over its joints."""
    width: float
    height: float


@dataclass(eq=False)
class _Graph:
    """Boxes and joints by number; the joints come after the boxes."""

    names: list[str]
    layers: list[list[int]] = field(default_factory=list[list[int]])
    before: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    after: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    ways: dict[Pair, list[int]] = field(default_factory=dict[Pair, list[int]])

    def join(self, one: int, other: int) -> None:
        self.after.setdefault(one, []).append(other)
        self.before.setdefault(other, []).append(one)


def layout_of(sizes: Mapping[str, tuple[float, float]], pairs: Sequence[Pair]) -> Layout:
    """Place boxes of these sizes, with a line for each pair. Boxes without a line stand in rows below."""
    lines = list(dict.fromkeys((one, other) for one, other in pairs if one != other))
    joined = {name for pair in lines for name in pair}
    names = [name for name in sizes if name in joined]
    graph = _graph(names, lines)
    _uncross(graph)
    boxes, ways = _place(graph, sizes)
    bottom = max((box.y + box.height for box in boxes.values()), default=-_BETWEEN * 2 + _MARGIN)
    boxes |= _rows({name: size for name, size in sizes.items() if name not in joined}, bottom + _BETWEEN * 2)
    width = max((box.x + box.width for box in boxes.values()), default=0.0)
    height = max((box.y + box.height for box in boxes.values()), default=0.0)
    return Layout(boxes, ways, width + _MARGIN, height + _MARGIN)


# --- layers -----------------------------------------------------------------------------------------------------------
def _graph(names: list[str], lines: Sequence[Pair]) -> _Graph:
    graph = _Graph(names)
    forward = _without_circles(names, lines)
    ranks = _ranks(names, forward)
    graph.layers = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for number, name in enumerate(names):
        graph.layers[ranks[name]].append(number)
    place = {name: number for number, name in enumerate(names)}
    joints = len(names)
    for one, other in forward:
        way = [place[one]]
        for rank in range(ranks[one] + 1, ranks[other]):
            graph.layers[rank].append(joints)
            way.append(joints)
            joints += 1
        way.append(place[other])
        for left, right in pairwise(way):
            graph.join(left, right)
        graph.ways[one, other] = way
    return graph


def _without_circles(names: Sequence[str], lines: Sequence[Pair]) -> list[Pair]:
    """The pairs, each in the direction in which none closes a circle; two between the same boxes are one."""
    after: dict[str, list[str]] = {name: [other for one, other in lines if one == name] for name in names}
    done: dict[str, int] = {}
    forward: list[Pair] = []
    for root in names:
        if root not in done:
            _walk(root, after, done, forward)
    return list(dict.fromkeys(forward))


def _walk(root: str, after: Mapping[str, Sequence[str]], done: dict[str, int], forward: list[Pair]) -> None:
    """Go through what follows a box: 1 is under way, 2 is done. A way back to what is under way is turned."""
    done[root] = 1
    stack: list[tuple[str, Iterator[str]]] = [(root, iter(after[root]))]
    while stack:
        name, rest = stack[-1]
        other = next(rest, None)
        if other is None:
            done[name] = 2
            stack.pop()
        elif done.get(other) == 1:
            forward.append((other, name))
        else:
            forward.append((name, other))
            if other not in done:
                done[other] = 1
                stack.append((other, iter(after[other])))


def _ranks(names: Sequence[str], forward: Sequence[Pair]) -> dict[str, int]:
    """The layer of each: the one after the last that leads to it; what nothing leads to stands before what it leads
    to."""
    ranks = dict.fromkeys(names, 0)
    for _ in names:
        for one, other in forward:
            ranks[other] = max(ranks[other], ranks[one] + 1)
    led = {other for _, other in forward}
    for name in names:
        follows = [ranks[other] for one, other in forward if one == name]
        if name not in led and follows:
            ranks[name] = min(follows) - 1
    return ranks


# --- the order within a layer -----------------------------------------------------------------------------------------
def _uncross(graph: _Graph) -> None:
    """Order each layer by the middle of its neighbours, to and fro, and keep the order with the fewest crossings."""
    best, fewest = [list(layer) for layer in graph.layers], _crossings(graph)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        order = range(1, len(graph.layers)) if forward else range(len(graph.layers) - 2, -1, -1)
        for rank in order:
            other = graph.layers[rank - 1] if forward else graph.layers[rank + 1]
            place = {number: at for at, number in enumerate(other)}
            near = graph.before if forward else graph.after
            at = {number: own for own, number in enumerate(graph.layers[rank])}
            graph.layers[rank].sort(key=lambda n: (_middle([place[o] for o in near.get(n, ())], at[n]), at[n]))
        crossings = _crossings(graph)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in graph.layers], crossings
    graph.layers = best


def _middle(places: Sequence[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _crossings(graph: _Graph) -> int:
    total = 0
    for left, right in pairwise(graph.layers):
        place = {number: at for at, number in enumerate(right)}
        ends = [sorted(place[o] for o in graph.after.get(number, ())) for number in left]
        flat = [end for some in ends for end in some]
        total += sum(1 for n, end in enumerate(flat) for later in flat[n + 1 :] if later < end)
    return total


# --- places -----------------------------------------------------------------------------------------------------------
def _place(
    graph: _Graph, sizes: Mapping[str, tuple[float, float]]
) -> tuple[dict[str, Box], dict[Pair, tuple[Point, ...]]]:
    names = graph.names
    heights = {n: sizes[names[n]][1] if n < len(names) else _JOINT_HEIGHT for layer in graph.layers for n in layer}
    middles = _middles(graph, heights)
    boxes: dict[str, Box] = {}
    spans: dict[int, Point] = {}
    x = float(_MARGIN)
    for layer in graph.layers:
        width = max(sizes[names[n]][0] for n in layer if n < len(names))
        for number in layer:
            spans[number] = x, x + width
            if number < len(names):
                boxes[names[number]] = Box(x, middles[number] - heights[number] / 2, width, heights[number])
        x += width + _ACROSS
    ways = {pair: tuple(_points(way, spans, middles)) for pair, way in graph.ways.items()}
    return boxes, ways


def _points(way: Sequence[int], spans: Mapping[int, Point], middles: Mapping[int, float]) -> Iterator[Point]:
    """From right side to left side; level over the whole width of each layer between."""
    first, *joints, last = way
    yield spans[first][1], middles[first]
    for joint in joints:
        left, right = spans[joint]
        yield left, middles[joint]
        yield right, middles[joint]
    yield spans[last][0], middles[last]


def _middles(graph: _Graph, heights: Mapping[int, float]) -> dict[int, float]:
    """The height of each box's middle: near its neighbours', without touching the next one."""
    middles: dict[int, float] = {}
    for layer in graph.layers:
        y = float(_MARGIN)
        for number in layer:
            middles[number] = y + heights[number] / 2
            y += heights[number] + _BETWEEN
    for sweep in range(_SWEEPS):
        layers = graph.layers if sweep % 2 == 0 else graph.layers[::-1]
        for layer in layers:
            wanted = [
                _middle([middles[o] for o in (*graph.before.get(n, ()), *graph.after.get(n, ()))], middles[n])
                for n in layer
            ]
            middles |= dict(zip(layer, _apart(wanted, [heights[n] for n in layer]), strict=True))
    top = min((middles[n] - heights[n] / 2 for n in middles), default=0.0) - _MARGIN
    return {number: middle - top for number, middle in middles.items()}


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Middles as near as possible to the wanted ones, in the same order: boxes that would touch become a group around
    the mean of its members' wanted middles."""
    groups: list[list[int]] = []
    starts: list[float] = []
    offsets = [0.0] * len(wanted)
    for number, want in enumerate(wanted):
        groups.append([number])
        starts.append(want)
        while len(groups) > 1 and starts[-2] + _span(groups[-2], groups[-1], heights, offsets) > starts[-1]:
            last = groups.pop()
            starts.pop()
            shift = _span(groups[-1], last, heights, offsets)
            for name in last:
                offsets[name] += shift
            groups[-1] += last
            starts[-1] = sum(wanted[name] - offsets[name] for name in groups[-1]) / len(groups[-1])
    return [start + offsets[name] for group, start in zip(groups, starts, strict=True) for name in group]


def _span(group: Sequence[int], later: Sequence[int], heights: Sequence[float], offsets: Sequence[float]) -> float:
    """From the first middle of a group to that of the group below it, where they stand as close as they may."""
    last, first = group[-1], later[0]
    return offsets[last] + heights[last] / 2 + _BETWEEN + heights[first] / 2 - offsets[first]


def _rows(sizes: Mapping[str, tuple[float, float]], top: float) -> dict[str, Box]:
    """Boxes without a line, side by side in rows."""
    boxes: dict[str, Box] = {}
    x, y, tallest = float(_MARGIN), top, 0.0
    for name, (width, height) in sizes.items():
        if x > _MARGIN and x + width > _WIDEST_ROW:
            x, y, tallest = float(_MARGIN), y + tallest + _BETWEEN, 0.0
        boxes[name] = Box(x, y, width, height)
        x, tallest = x + width + _BETWEEN, max(tallest, height)
    return boxes
