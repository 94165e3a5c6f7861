"""The checker of the order of mutations: each disorder is found where it is planted, and a sound history has none."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.histories.history import Status
from tests.histories.mutation_checker import disorders
from tests.histories.mutation_history import DocumentHistory, Entry, Made, Name, Pulled, Pushed, Settled, State

CLIENTS = "ab"


def sound(count: int = 40, seed: int = 1) -> DocumentHistory:
    """Two clients, whose mutations become versions of one to three, with a pull and an outcome after each."""
    chance, history, state, moment = random.Random(seed), DocumentHistory(), State(), 0
    ids, last_ids = dict.fromkeys(CLIENTS, 0), dict[str, int]()
    while len(history.made) < count:
        entries: list[Entry] = []
        began = moment = moment + 1
        for _ in range(chance.randint(1, 3)):
            client = chance.choice(CLIENTS)
            ids[client] += 1
            name = Name(client, ids[client])
            made = history.made[name] = Made(began, chance.choice((None, "x", "y", "z")))
            entries.append(Entry(name, made.cell is None))
            state, last_ids = state.after(name, made), {**last_ids, client: ids[client]}
        history.versions.append(entries)
        number = len(history.versions)
        names = tuple(entry.name for entry in entries)
        history.pushes.append(Pushed(names, began, moment + 1, Status.DONE))
        history.outcomes += [Settled(e.name, began, moment + 2, number, e.rejected) for e in entries]
        history.pulls.append(Pulled(chance.choice(CLIENTS), moment + 3, moment + 4, number, state, last_ids))
        moment += 5
    return history


def edit_pull(history: DocumentHistory, number: int, **changes: object) -> None:
    history.pulls[number] = replace(history.pulls[number], **changes)  # type: ignore[arg-type]


def double(history: DocumentHistory) -> None:
    history.versions[12].append(history.versions[3][0])


def reorder(history: DocumentHistory) -> None:
    """Two of one client change places."""
    (n, i), (m, j) = place_of(history, Name("a", 3)), place_of(history, Name("a", 9))
    history.versions[n][i], history.versions[m][j] = history.versions[m][j], history.versions[n][i]


def place_of(history: DocumentHistory, name: Name) -> tuple[int, int]:
    return next((n, i) for n, es in enumerate(history.versions) for i, entry in enumerate(es) if entry.name == name)


def lose(history: DocumentHistory) -> None:
    """The last one of a client, so that no gap tells it."""
    n, i = place_of(history, max(name for name in history.made if name.client == "b"))
    del history.versions[n][i]


def lose_an_update(history: DocumentHistory) -> None:
    """A version was made of a state that lacks the ones before it."""
    edit_pull(history, 10, state=history.pulls[7].state)


def half(history: DocumentHistory) -> None:
    """The digest of the version, with a cell of the one before."""
    pull = next(p for p in history.pulls[5:] if len(p.state.cells) > 1)
    cells = {**pull.state.cells, min(pull.state.cells): "a:1"}
    edit_pull(history, history.pulls.index(pull), state=State(pull.state.count, pull.state.digest, cells))


def of_two_versions(history: DocumentHistory) -> None:
    edit_pull(history, 10, last_ids=history.pulls[14].last_ids)


def back(history: DocumentHistory) -> None:
    earlier = history.pulls[4]
    edit_pull(history, 12, client=history.pulls[11].client, version=earlier.version, state=earlier.state)
    edit_pull(history, 12, last_ids=earlier.last_ids)


def stale(history: DocumentHistory) -> None:
    """By a client that has not pulled before."""
    earlier = history.pulls[4]
    edit_pull(history, 12, client="new", version=earlier.version, state=earlier.state, last_ids=earlier.last_ids)


def too_early(history: DocumentHistory) -> None:
    name = history.versions[10][0].name
    history.made[name] = replace(history.made[name], began=history.pulls[12].ended + 1)


def forge(history: DocumentHistory) -> None:
    history.versions[5].append(Entry(Name("c", 1)))


def apply_a_rejected_one(history: DocumentHistory) -> None:
    entries = next(e for e in history.versions if any(entry.rejected for entry in e))
    entries[:] = [replace(entry, rejected=False) for entry in entries]


def tell_wrong(history: DocumentHistory) -> None:
    history.outcomes[7] = replace(history.outcomes[7], version=99)


def skip(history: DocumentHistory) -> None:
    """One that was never acknowledged is left out, and its client goes on."""
    name = Name("a", 5)
    history.pushes = [push for push in history.pushes if name not in push.names]
    n, i = place_of(history, name)
    del history.versions[n][i]


PLANTED: dict[str, tuple[Callable[[DocumentHistory], None], str]] = {
    "a mutation is applied twice": (double, "applied twice"),
    "two mutations of a client change places": (reorder, "out of order"),
    "a mutation is left out": (skip, "out of order"),
    "an acknowledged mutation is lost": (lose, "lost"),
    "an update is lost": (lose_an_update, "not the state of a version"),
    "half a version is read": (half, "not the state of a version"),
    "last ids of a later version": (of_two_versions, "last id without its effects"),
    "a client goes back": (back, "went back"),
    "a stale pull": (stale, "stale"),
    "a mutation is seen before it was made": (too_early, "before it was made"),
    "a mutation of nobody": (forge, "never made"),
    "what is to be rejected is applied": (apply_a_rejected_one, "wrong outcome"),
    "an outcome that is not so": (tell_wrong, "wrong outcome"),
}


@pytest.mark.parametrize("seed", range(5))
def test_a_sound_history(seed: int) -> None:
    assert disorders(sound(200, seed)) == []


def test_a_push_that_was_not_acknowledged_may_be_missing() -> None:
    history = sound()
    name = Name("z", 1)
    history.made[name] = Made(0, "x")
    history.pushes.append(Pushed((name,), 0))
    assert disorders(history) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_disorder_is_found(name: str) -> None:
    plant, wanted = PLANTED[name]
    history = sound()
    plant(history)
    found = disorders(history)
    assert any(text.startswith(wanted) for text in found), found
    chance = random.Random(name)
    chance.shuffle(history.pulls)  # the order of the lists says nothing
    chance.shuffle(history.outcomes)
    assert any(text.startswith(wanted) for text in disorders(history))
