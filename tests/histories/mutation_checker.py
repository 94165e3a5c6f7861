"""Whether the history of a document is that of one order of mutations, each applied once, which every pull is a
beginning of.

    disorders(history)    # [] for one that is

The order is what the versions list. It holds each client's mutations in the order of their ids, from 1 on, without a
gap; all that was acknowledged; nothing that nobody made. A pull is the state after one version, with the last ids of
that version. No client goes back, and a pull that began after another had ended, or after a processor had returned an
outcome, shows at least that version. Its time is linear in the history, but for one sort.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.histories.history import Status
from tests.histories.mutation_history import DocumentHistory, Entry, Name, Pulled, State


def disorders(history: DocumentHistory) -> list[str]:
    """What one order of mutations does not explain."""
    found = [*_of_the_order(history)]
    if found:
        return found  # no state can be told from such an order
    return [*_of_pulls(history), *_of_outcomes(history), *_of_real_time(history)]


# --- the order --------------------------------------------------------------------------------------------------------
def _of_the_order(history: DocumentHistory) -> Iterator[str]:
    next_ids: dict[str, int] = {}
    there: set[Name] = set()
    for number, entry in _entries(history):
        name = entry.name
        made = history.made.get(name)
        if made is None:
            yield f"never made: {name} is in version {number}"
            continue
        if name in there:
            yield f"applied twice: {name}, again in version {number}"
            continue
        there.add(name)
        if name.id != next_ids.setdefault(name.client, 1):
            yield f"out of order: {name} in version {number}, after {name.client}:{next_ids[name.client] - 1}"
        next_ids[name.client] = max(next_ids[name.client], name.id + 1)
        if entry.rejected is not (made.cell is None):
            yield f"wrong outcome: {name} in version {number} was {'rejected' if entry.rejected else 'applied'}"
    for push in history.pushes:
        for name in push.names if push.status is Status.DONE else ():
            if name not in there:
                yield f"lost: {name} was acknowledged"


def _entries(history: DocumentHistory) -> Iterator[tuple[int, Entry]]:
    for number, entries in enumerate(history.versions, 1):
        for entry in entries:
            yield number, entry


# --- what pulls show --------------------------------------------------------------------------------------------------
def _of_pulls(history: DocumentHistory) -> Iterator[str]:
    states, last_ids = _replayed(history)
    last: dict[str, int] = {}
    for pull in sorted(history.pulls, key=lambda pull: pull.began):
        where = f"{pull.client}'s pull of version {pull.version} at {pull.began:.0f}"
        if not 0 <= pull.version < len(states):
            yield f"no such version: {where}"
            continue
        if pull.state != states[pull.version]:
            yield f"not the state of a version: {where}{_explained(pull, states)}"
        wanted = last_ids[pull.version]
        for client, id in pull.last_ids.items():
            if id != wanted.get(client, 0):
                yield f"last id without its effects: {where} says {client}:{id}, and {wanted.get(client, 0)} is so"
        if pull.version < last.get(pull.client, 0):
            yield f"went back: {where}, after version {last[pull.client]}"
        last[pull.client] = pull.version


def _replayed(history: DocumentHistory) -> tuple[list[State], list[dict[str, int]]]:
    """The state and the last ids of every version."""
    states, last_ids = [State()], [dict[str, int]()]
    for entries in history.versions:
        state, ids = states[-1], dict(last_ids[-1])
        for entry in entries:
            state = state.after(entry.name, history.made[entry.name])
            ids[entry.name.client] = entry.name.id
        states.append(state)
        last_ids.append(ids)
    return states, last_ids


def _explained(pull: Pulled, states: list[State]) -> str:
    same = [number for number, state in enumerate(states) if state == pull.state]
    return f", but of version {same[0]}" if same else ""


def _of_outcomes(history: DocumentHistory) -> Iterator[str]:
    places = {entry.name: (number, entry.rejected) for number, entry in _entries(history)}
    for each in history.outcomes:
        if places.get(each.name) != (each.version, each.rejected):
            yield f"wrong outcome: {each.name} was told as of version {each.version}, and is {places.get(each.name)}"


def _of_real_time(history: DocumentHistory) -> Iterator[str]:
    """What was seen by a moment is seen from then on, and nothing is seen before it was made."""
    numbers = {entry.name: number for number, entry in _entries(history)}
    events = [(pull.ended, 0, pull.version) for pull in history.pulls]
    events += [(each.ended, 0, each.version or 0) for each in history.outcomes]
    events += [(pull.began, 1, number) for number, pull in enumerate(history.pulls)]
    events += [(made.began, 2, numbers[name]) for name, made in history.made.items() if name in numbers]
    newest = 0
    for moment, kind, value in sorted(events):
        if kind == 0:
            newest = max(newest, value)
        elif kind == 1 and history.pulls[value].version < newest:
            pull = history.pulls[value]
            yield f"stale: {pull.client}'s pull of version {pull.version} at {moment:.0f}, {newest} was seen before"
        elif kind == 2 and value <= newest:
            yield f"before it was made: what was made at {moment:.0f} is in version {value}, {newest} was seen before"
