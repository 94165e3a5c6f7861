"""Automata of key texts: whether two templates could write one text, and whether a text could be read in two ways.

A text is a row of places, a literal or a value each; what may stand at a place is a few sequences of steps. Two
automata are walked at once: where both reach their ends, the characters taken on the way are an example. A text has
two readings where a character stands at one place in the first walk and at another in the second: `a_` `__` `b` is
`a` `__` `_b`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from singletable.values import ShapeStep, Steps

Taken = tuple[str, int, int]
"""A character, with its place in the first reading and in the second."""
_State = tuple[int, int, bool]


class Automaton:
    """The texts of a row of places, as states and what leads from one to another: a character, or nothing."""

    def __init__(self, places: Sequence[Sequence[Steps]]) -> None:
        self.moves: list[list[tuple[ShapeStep | None, int, int]]] = [[]]
        """From each state: the characters that are taken, the state after, and the place of the character."""
        self.end = 0
        for place, choices in enumerate(places):
            start, self.end = self.end, self._state()
            for steps in choices:
                at = start
                for step in steps:
                    at = self._step(at, step, place)
                self.moves[at].append((None, self.end, place))

    def _state(self) -> int:
        self.moves.append([])
        return len(self.moves) - 1

    def _step(self, at: int, step: ShapeStep, place: int) -> int:
        if step.without:
            return self._without(at, step, place)
        after = self._state()
        if step.many:
            self.moves[at].append((None, after, place))
            at = after
        self.moves[at].append((step, after, place))
        return after

    def _without(self, at: int, step: ShapeStep, place: int) -> int:
        """Any characters, one at least, in which a text does not stand: a state for each beginning of the text."""
        text = step.without
        begun, after = [self._state() for _ in text], self._state()
        for number, state in ((0, at), *enumerate(begun)):
            for character in sorted({*text} - step.chars):
                now = _begun(text, text[:number] + character)
                if now < len(text):
                    self.moves[state].append((ShapeStep(frozenset(character)), begun[now], place))
            self.moves[state].append((ShapeStep(step.chars.union(text), other=True), begun[0], place))
        for state in begun:
            self.moves[state].append((None, after, place))
        return after


def common_text(one: Automaton, other: Automaton) -> str | None:
    """The shortest text that both take; None if there is none."""
    path = _walk(one, other, 0)
    return None if path is None else "".join(character for character, _, _ in path)


def two_readings(one: Automaton, other: Automaton, places: int) -> Sequence[Taken] | None:
    """A text that both take, and whose characters stand otherwise in one than in the other, within the first places;
    None if there is none."""
    return _walk(one, other, places)


def _begun(text: str, taken: str) -> int:
    """The number of characters of a text that the end of another has begun."""
    return next(count for count in range(len(taken), -1, -1) if taken.endswith(text[:count]))


def _walk(one: Automaton, other: Automaton, places: int) -> list[Taken] | None:
    """Breadth first over the pairs of states, and whether the readings differ yet."""
    start: _State = (0, 0, places == 0)
    before: dict[_State, tuple[_State, Taken | None] | None] = {start: None}
    queue: deque[_State] = deque([start])
    while queue:
        state = queue.popleft()
        if state == (one.end, other.end, True):
            return _path(before, state)
        for taken, after in _next(one, other, state, places):
            if after not in before:
                before[after] = (state, taken)
                (queue.appendleft if taken is None else queue.append)(after)
    return None


def _next(one: Automaton, other: Automaton, state: _State, places: int) -> Iterator[tuple[Taken | None, _State]]:
    i, j, differ = state
    for step, after, place in one.moves[i]:
        if step is None:
            yield None, (after, j, differ)
            continue
        for its, beyond, where in other.moves[j]:
            if its is not None and (character := step.common(its)) is not None:
                apart = place != where and min(place, where) < places
                yield (character, place, where), (after, beyond, differ or apart)
    for its, beyond, _ in other.moves[j]:
        if its is None:
            yield None, (i, beyond, differ)


def _path(before: dict[_State, tuple[_State, Taken | None] | None], state: _State) -> list[Taken]:
    path: list[Taken] = []
    while (step := before[state]) is not None:
        state, taken = step
        if taken is not None:
            path.append(taken)
    return path[::-1]
