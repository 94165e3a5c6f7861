"""The two shells have the same verbs with the same parameters; only their colour differs."""

from __future__ import annotations

import inspect

import pytest

from singletable import AsyncDatabase, Database, connect, connect_async

COLOURED = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
VERBS = sorted(n for n, v in vars(Database).items() if inspect.isfunction(v) and (n[0] != "_" or n in COLOURED))


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_the_same_in_both(verb: str) -> None:
    blocking = inspect.signature(getattr(Database, verb))
    awaiting = inspect.signature(getattr(AsyncDatabase, COLOURED.get(verb, verb)))
    if verb != "__init__":
        assert blocking.parameters == awaiting.parameters


def test_neither_has_a_verb_that_the_other_lacks() -> None:
    theirs = {n for n, v in vars(AsyncDatabase).items() if inspect.isfunction(v) and n[0] != "_"}
    assert theirs == {COLOURED.get(verb, verb) for verb in VERBS if verb[0] != "_"}
    assert inspect.signature(connect).parameters == inspect.signature(connect_async).parameters
