"""Cycles of a directed graph: Tarjan's components, without recursion, and a shortest cycle in one."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping

Graph = Mapping[int, Collection[int]]


def components(count: int, edges: Graph) -> Iterator[list[int]]:
    """The strongly connected components of more than one node."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(count):
        if root in index:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = _popped(stack, on_stack, node)
                    if len(component) > 1:
                        yield component
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(edges.get(target, ()))))
            elif target in on_stack:
                low[node] = min(low[node], index[target])


def _popped(stack: list[int], on_stack: set[int], node: int) -> list[int]:
    component: list[int] = []
    while True:
        component.append(stack.pop())
        on_stack.discard(component[-1])
        if component[-1] == node:
            return component


def shortest_cycle(component: Collection[int], edges: Graph) -> list[int]:
    """A shortest cycle through the first node of a component."""
    inside, start = set(component), min(component)
    before: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for target in edges.get(node, ()):
            if target == start:
                return _path(before, node)
            if target in inside and target not in before:
                before[target] = node
                waiting.append(target)
    raise ValueError("the component has no cycle")


def _path(before: Mapping[int, int], end: int) -> list[int]:
    path = [end]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]
